/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operator should hear about a configuration that is valid. */
#include <string.h>
#include <sys/stat.h>

#include "config/dsn.h"
#include "config/reader.h"

enum { SKIPPED_SHOWN = 20 };

void config_apply_log(const struct settings *settings)
{
	log_configure(settings->log_level, settings->log_format, settings->log_target);
}

static bool has_secret(const struct settings *settings)
{
	char masked[64];

	for (size_t i = 0; i < settings->backend_count; i++) {
		const struct backend_settings *backend = &settings->backend[i];
		const struct option_spec *spec = backend->driver->options;

		for (size_t j = 0; spec[j].name; j++) {
			if (spec[j].kind == OPTION_SECRET && backend->value[j].text)
				return true;
			if (spec[j].kind == OPTION_TEXT && strcmp(spec[j].name, "dsn") == 0 &&
			    backend->value[j].text &&
			    dsn_mask(backend->value[j].text, "", masked, sizeof masked))
				return true;
		}
	}
	return false;
}

static void note_mode(const struct settings *settings)
{
	struct stat status;

	if (!settings->source || stat(settings->source, &status) < 0)
		return;
	if (status.st_mode & S_IWOTH)
		log_warn("everybody may change the configuration file",
			 LOG_TEXT("file", settings->source));
	if ((status.st_mode & S_IROTH) && has_secret(settings))
		log_warn("everybody may read the password in the configuration file",
			 LOG_TEXT("file", settings->source));
}

static void note_skipped(const struct config *config)
{
	for (size_t i = 0; i < config->skipped_count && i < SKIPPED_SHOWN; i++)
		log_info("namespace of another block is skipped",
			 LOG_TEXT("block", config->skipped[i].block),
			 LOG_INT("line", config->skipped[i].line));
	if (config->skipped_count > SKIPPED_SHOWN)
		log_info("more namespaces of other blocks are skipped",
			 LOG_INT("count", (int64_t)(config->skipped_count - SKIPPED_SHOWN)));
}

void config_log_notes(const struct settings *settings)
{
	const struct config *config = (const struct config *)settings;

	note_mode(settings);
	note_skipped(config);
	if (settings->namespace_count == 0)
		log_warn("no namespace of block lease is configured: every call will be refused");
	if (config->address && settings->auth.format == AUTH_NONE)
		log_warn("anybody who can reach this address may take and break leases",
			 LOG_TEXT("address", config->address), LOG_TEXT("verifier", "none"));
	for (size_t i = 0; config->restart[i]; i++)
		log_warn("a changed key waits for a restart", LOG_TEXT("key", config->restart[i]));
}
