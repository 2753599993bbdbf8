/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/inherit.h"
#include "master/upgrade.h"

#define JUDGE_US (10 * CLOCK_SECOND)

enum { SAID = 400 };

static void refuse(const char *why)
{
	log_error("upgrade refused, nothing changes", LOG_TEXT("why", why));
}

/* The command line with -t -q behind it: getopt takes options in any order. To be freed. */
static char **judging(char *const *argv)
{
	size_t count = 0;
	char **copy;

	while (argv[count])
		count++;
	copy = calloc(count + 3, sizeof *copy);
	if (!copy)
		return NULL;
	memcpy(copy, argv, count * sizeof *copy);
	copy[count] = (char *)(uintptr_t) "-t";
	copy[count + 1] = (char *)(uintptr_t) "-q";
	return copy;
}

/* In the directory of the start, since a name may be relative; signals as a program expects them.
 * 0 or an errno. */
static int spawn(const struct master_setup *setup, int errors, pid_t *pid)
{
	char **argv = judging(setup->argv);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int error;

	if (!argv)
		return ENOMEM;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, setup->directory);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free(argv);
	return error;
}

/* The first line of what it said, until it closes its end or the time is over. */
static void hear(int fd, char *said)
{
	int64_t until = clock_boot_us() + JUDGE_US;
	size_t used = 0;
	char more[256];

	for (;;) {
		struct pollfd polled = {fd, POLLIN, 0};
		int64_t left = (until - clock_boot_us()) / CLOCK_MILLI;
		ssize_t n;

		if (left <= 0 || poll(&polled, 1, (int)left) <= 0)
			break;
		n = read(fd, more, sizeof more);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n && used < SAID - 1; i++)
			said[used++] = more[i];
	}
	said[used] = 0;
	said[strcspn(said, "\n")] = 0;
}

bool upgrade_judge(const struct master *master)
{
	char said[SAID];
	int ends[2], error, status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		refuse(strerror(errno));
		return false;
	}
	error = spawn(master->setup, ends[1], &pid);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		refuse(strerror(error));
		return false;
	}
	hear(ends[0], said);
	close(ends[0]);
	/* One that hangs is killed; it is nobody's worker, so child_reap need not see it. */
	if (waitpid(pid, &status, WNOHANG) == 0) {
		struct timespec moment = {0, 100000000L};

		nanosleep(&moment, NULL); /* between its last word and its end */
		if (waitpid(pid, &status, WNOHANG) == 0) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	refuse(said[0] ? said : "the program does not accept the configuration");
	return false;
}

void upgrade_exec(const struct master *master)
{
	const struct master_setup *setup = master->setup;

	if (!inherit_leave(master->listen.fd, master->listen.count)) {
		log_error("sockets cannot be handed on", LOG_TEXT("error", strerror(errno)));
		return;
	}
	if (chdir(setup->directory) < 0)
		log_warn("directory of the start is gone", LOG_TEXT("path", setup->directory));
	fflush(NULL);
	execvp(setup->argv[0], setup->argv);
	log_error("new program cannot be run: the old one goes on",
		  LOG_TEXT("error", strerror(errno)));
	execv("/proc/self/exe", setup->argv);
	log_fatal("program cannot be run again", LOG_TEXT("error", strerror(errno)));
}
