/* SPDX-License-Identifier: Apache-2.0
 *
 * leased: options, then configuration, then the master. The one file that names the drivers and
 * the worker. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "config.h"
#include "admin/admin.h"
#include "auth/verifier.h"
#include "config/config.h"
#include "master/daemon.h"
#include "master/inherit.h"
#include "master/master.h"
#include "pg/driver.h"
#include "shm/driver.h"
#include "worker/worker.h"

enum { EXIT_USAGE = 64, EXIT_CONFIG = 78 };

static const struct driver *const drivers[] = {&shm_driver, &pg_driver, NULL};

static const struct master_config reading = {
    .load = config_load,
    .renew = config_renew,
    .reload = config_reload,
    .apply_log = config_apply_log,
    .log_notes = config_log_notes,
    .free = config_free,
};

struct options {
	const char *config;
	char *pidfile;
	bool test, dump, daemon;
	struct config_input input;
};

static const char short_options[] = ":f:tTDp:w:Vvqh";
static const struct option long_options[] = {
    {"config", required_argument, NULL, 'f'},
    {"test", no_argument, NULL, 't'},
    {"dump-config", no_argument, NULL, 'T'},
    {"daemon", no_argument, NULL, 'D'},
    {"pidfile", required_argument, NULL, 'p'},
    {"workers", required_argument, NULL, 'w'},
    {"version", no_argument, NULL, 'V'},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int help(void)
{
	puts("Usage: leased [-f FILE] [-t | -T] [-D] [-p PIDFILE] [-w N] [-v | -q]...\n"
	     "Serves leases (locks that expire) over gRPC. Without a file: namespace \"locks\" "
	     "from\n"
	     "memory on 127.0.0.1:7777.\n"
	     "\n"
	     "  -f, --config FILE     read the configuration from FILE, see leased.yaml(5)\n"
	     "  -t, --test            judge the configuration and exit\n"
	     "  -T, --dump-config     print the effective configuration and exit\n"
	     "  -D, --daemon          run in the background; return when the server serves\n"
	     "  -p, --pidfile PIDFILE write the pid of the master there\n"
	     "  -w, --workers N       number of worker processes, 1 to 64\n"
	     "  -v, --verbose         log more\n"
	     "  -q, --quiet           log less; may be repeated\n"
	     "  -V, --version         print versions and drivers and exit\n"
	     "  -h, --help            print this and exit");
	return fflush(stdout) == 0 ? 0 : MASTER_EXIT_SYSTEM;
}

static int version(void)
{
	printf("leased %s\ndrivers:", PACKAGE_VERSION);
	for (size_t i = 0; drivers[i]; i++)
		printf(" %s", drivers[i]->name);
	printf("\nlibraries: grpc-core %s, protobuf-c %s, yaml %s, jansson %s\n", GRPC_VERSION_TEXT,
	       PROTOBUF_C_VERSION_TEXT, config_yaml_version(), JANSSON_VERSION);
	return fflush(stdout) == 0 ? 0 : MASTER_EXIT_SYSTEM;
}

__attribute__((format(printf, 1, 2))) static int misuse(const char *format, ...)
{
	va_list list;

	fputs("leased: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputs("\nTry 'leased --help'.\n", stderr);
	return EXIT_USAGE;
}

static bool read_workers(const char *text, unsigned *workers)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number < 1 || number > DRIVER_WORKERS_MAX)
		return false;
	*workers = (unsigned)number;
	return true;
}

/* -1: go on. Else the exit status. */
static int take_option(struct options *options, int option, char **argv)
{
	switch (option) {
	case 'f':
		options->config = optarg;
		return -1;
	case 't':
		options->test = true;
		return -1;
	case 'T':
		options->dump = true;
		return -1;
	case 'D':
		options->daemon = options->input.daemon = true;
		return -1;
	case 'p':
		options->pidfile = optarg;
		return -1;
	case 'w':
		return read_workers(optarg, &options->input.workers)
			   ? -1
			   : misuse("the number of workers must be 1 to %d, not \"%s\"",
				    DRIVER_WORKERS_MAX, optarg);
	case 'v':
		options->input.verbosity++;
		return -1;
	case 'q':
		options->input.verbosity--;
		return -1;
	case 'V':
		return version();
	case 'h':
		return help();
	case ':':
		return misuse("option %s needs a value", argv[optind - 1]);
	default:
		return misuse("unknown option %s", argv[optind - 1]);
	}
}

static int take_options(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		int status = take_option(options, option, argv);

		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return misuse("unexpected argument %s", argv[optind]);
	if (options->config && options->config[0] == 0)
		return misuse("the name of the configuration file is empty");
	if (options->pidfile && options->pidfile[0] == 0)
		return misuse("the name of the pid file is empty");
	return -1;
}

/* The path from "/", since a daemon leaves its directory, but through the links as they are then:
 * a reload must see a link that was turned to a new file. NULL with errno. To be freed. */
static char *absolute(const char *path)
{
	char *here, *whole = NULL;

	if (path[0] == '/')
		return strdup(path);
	here = getcwd(NULL, 0);
	if (here && asprintf(&whole, "%s/%s", strcmp(here, "/") == 0 ? "" : here, path) < 0)
		whole = NULL;
	free(here);
	return whole;
}

/* NULL settings: *status is the exit status and all errors are written. */
static struct settings *read_settings(const struct options *options, int *status)
{
	char *path = options->config ? absolute(options->config) : NULL;
	struct settings *settings = NULL;
	struct bytes text = {NULL, 0};
	char why[PATH_MAX + 128];

	*status = EXIT_CONFIG;
	if (options->config && !path)
		fprintf(stderr, "leased: error: %s: %s\n", options->config, strerror(errno));
	else if (path && config_load(path, &text, why, sizeof why) != ERR_OK)
		fprintf(stderr, "leased: error: %s\n", why);
	else
		config_read(&options->input, path, text, stderr, &settings);
	free((void *)(uintptr_t)text.data);
	free(path);
	return settings;
}

/* -D: into the background, unless the program before this one brought the process there. */
static bool go_behind(struct master_setup *setup)
{
	if (inherit_any())
		return chdir("/") == 0;
	setup->ready = daemon_start();
	return setup->ready >= 0;
}

static int serve(const struct options *options, struct settings *settings, char *const *argv)
{
	struct master_setup setup = {.worker_run = worker_run,
				     .admin_run = admin_run,
				     .config = &reading,
				     .argv = argv,
				     .ready = -1};
	char *pidfile = options->pidfile ? absolute(options->pidfile) : NULL;
	char *directory = getcwd(NULL, 0);
	int status = MASTER_EXIT_SYSTEM;

	setup.pidfile = pidfile;
	setup.directory = directory ? directory : "/";
	if (options->pidfile && !pidfile)
		perror("leased: error: pid file");
	else if (options->daemon && !go_behind(&setup))
		perror("leased: error: daemon");
	else
		status = -1;
	if (status < 0) {
		config_apply_log(settings);
		status = master_run(&setup, settings);
	} else {
		config_free(settings);
	}
	free(directory);
	free(pidfile);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {.input = {.drivers = drivers, .verifier = &auth_verifier}};
	struct settings *settings;
	int status = take_options(&options, argc, argv);

	if (status >= 0)
		return status;
	settings = read_settings(&options, &status);
	if (!settings)
		return status;
	if (!options.test && !options.dump)
		return serve(&options, settings, argv);
	status = 0;
	if (options.dump && !config_dump(settings, stdout))
		status = MASTER_EXIT_SYSTEM;
	else if (!options.dump && options.input.verbosity >= 0)
		fprintf(stderr, "%s: configuration is valid\n",
			options.config ? options.config : "built-in defaults");
	config_free(settings);
	return status;
}
