/* SPDX-License-Identifier: Apache-2.0
 *
 * HUP: the file is read once, wholly, and judged. What the workers get is that very text, in memory
 * that nobody can change any more, so that all see the same even while the file is being written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/state.h"

enum { WHY = 512 };

static bool write_all(int fd, struct bytes text, size_t at)
{
	size_t done = 0;

	while (done < text.len) {
		ssize_t n = pwrite(fd, text.data + done, text.len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The text, a NUL and the files that it names, in a memfd_create(2), sealed; -1 with errno. */
static int seal(struct bytes text, struct bytes attached)
{
	static const uint8_t nothing;
	int fd = memfd_create("leased.yaml", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (write_all(fd, text, 0) && write_all(fd, (struct bytes){&nothing, 1}, text.len) &&
	    write_all(fd, attached, text.len + 1) &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -1;
}

static void log_errors(char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_error("configuration refused", LOG_TEXT("error", line));
}

/* The settings the text asks for, or NULL after logging why not. */
static struct settings *judge(struct master *master, struct bytes text)
{
	struct settings *settings = NULL;
	char *written = NULL;
	size_t size;
	FILE *errors = open_memstream(&written, &size);

	if (!errors) {
		log_error("configuration refused", LOG_TEXT("error", "out of memory"));
		return NULL;
	}
	master->setup->config->renew(master->settings, text, errors, &settings);
	fclose(errors);
	if (!settings && written)
		log_errors(written);
	free(written);
	return settings;
}

static void take_over(struct master *master, struct settings *settings, int memfd)
{
	const struct master_config *config = master->setup->config;

	config->free(master->settings);
	master->settings = settings; /* workers forked from now on begin with these */
	config->apply_log(settings);
	config->log_notes(settings);
	child_reload_all(master, memfd);
	child_fit(master);
	log_info("configuration reloaded", LOG_TEXT("file", settings->source),
		 LOG_INT("workers", settings->workers));
}

void reload_now(struct master *master)
{
	const struct master_config *config = master->setup->config;
	const char *source = master->settings->source;
	struct settings *settings;
	struct bytes text;
	char why[WHY];
	int memfd;

	if (!source) {
		log_info("there is no configuration file to read again");
		return;
	}
	if (config->load(source, &text, why, sizeof why) != ERR_OK) {
		log_error("configuration refused", LOG_TEXT("error", why));
		meter_reloaded(master->meter, false, 0);
		return;
	}
	settings = judge(master, text);
	meter_reloaded(master->meter, settings != NULL, clock_wall_us());
	memfd = settings ? seal(text, settings->attached) : -1;
	if (settings && memfd < 0) {
		log_error("configuration cannot be handed on", LOG_TEXT("error", strerror(errno)));
		config->free(settings);
	} else if (settings) {
		take_over(master, settings, memfd);
	}
	if (memfd >= 0)
		close(memfd);
	free((void *)(uintptr_t)text.data);
}
