/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "config_case.h"
#include "stub_driver.h"
#include "shm/driver.h"

/* Every key once, and what only quoting can say. */
static const char whole[] =
    "# a comment\n"
    "server:\n"
    "  grpc:\n"
    "    tcp: [\"127.0.0.1:7001\", \"[::1]:7002\", ':7003']\n"
    "    uds: /run/leased/a.sock\n"
    "    tls: {}\n"
    "  shutdown_timeout: 5s\n"
    "  workers: 3\n"
    "  reflection: false\n"
    "  health: false\n"
    "  state_dir: \"/var/lib/x y\"\n"
    "observability:\n"
    "  logging: { level: debug, format: json, target: syslog }\n"
    "  metrics:\n"
    "    prometheus: { addr: '127.0.0.1:9000', path: /m }\n"
    "auth: { verifier: none }\n"
    "limits: { max_ttl: 36h, max_wait: 1.5h }\n"
    "backends:\n"
    "  - name: pg-main\n"
    "    driver: postgres\n"
    "    options: { dsn: 'host=db password=geheim', token: geheim, poll: 250ms, pool: 8,\n"
    "               listen: false, mode: safe }\n"
    "  - { name: mem, driver: memory, options: { capacity: 5, restart_grace: 0s, segment: /s } }\n"
    "namespaces:\n"
    "  - { block: lease, name: locks, backend: pg-main }\n"
    "  - { block: lease, name: \"z\\u00e9\\n\\U0001f600\\e \\\"q\\\\\", backend: mem }\n"
    "  - { block: lease, name: no, backend: memory }\n"
    "  - { block: lease, name: 0123 }\n"
    "  - { block: queue, name: jobs, backend: elsewhere, depth: 5 }\n";

static struct settings *read_good(const char *text)
{
	char *errors;
	struct settings *settings = config_case_read(text, &errors);

	cr_assert_not_null(settings, "%s", errors);
	cr_expect_str_empty(errors);
	free(errors);
	return settings;
}

Test(config, without_a_file_locks_is_served_from_memory_on_loopback)
{
	static const char *const empty[] = {
	    "", "# nothing\n", "---\n", "~\n", "{}\n", "namespaces:\nserver:\nauth: ~\n"};

	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		struct settings *settings = read_good(empty[i]);

		cr_assert_eq(settings->listen_count, 1);
		cr_expect_str_eq(settings->listen[0].host, "127.0.0.1");
		cr_expect_str_eq(settings->listen[0].port, "7777");
		cr_assert_eq(settings->namespace_count, 1);
		cr_expect(bytes_equal(settings->name_space[0].name, bytes_of("locks")));
		cr_assert_eq(settings->backend_count, 1);
		cr_expect_str_eq(settings->backend[0].name, "memory");
		cr_expect_eq(settings->backend[0].driver, &shm_driver);
		cr_expect_eq(settings->backend[0].value[0].number, 1000000);
		cr_expect_eq(settings->shutdown_timeout_us, 8000000);
		cr_expect_eq(settings->limits.max_ttl_us, LIMITS_MAX_TTL_DEFAULT);
		cr_expect_eq(settings->limits.max_wait_us, LIMITS_MAX_WAIT_DEFAULT);
		cr_expect(settings->health && settings->reflection);
		cr_expect_geq(settings->workers, 1);
		config_free(settings);
	}
}

Test(config, every_key_has_its_effect)
{
	struct settings *settings = read_good(whole);
	const struct namespace_settings *odd;

	cr_assert_eq(settings->listen_count, 4);
	cr_expect_str_eq(settings->listen[0].host, "127.0.0.1");
	cr_expect_str_eq(settings->listen[1].host, "::1");
	cr_expect_str_eq(settings->listen[1].port, "7002");
	cr_expect_str_eq(settings->listen[2].host, "");
	cr_expect_eq(settings->listen[3].kind, LISTEN_UNIX);
	cr_expect_str_eq(settings->listen[3].path, "/run/leased/a.sock");
	cr_expect_eq(settings->workers, 3);
	cr_expect_eq(settings->shutdown_timeout_us, 5000000);
	cr_expect_not(settings->reflection);
	cr_expect_not(settings->health);
	cr_expect_str_eq(settings->state_dir, "/var/lib/x y");
	cr_expect_eq(settings->log_level, LEVEL_DEBUG);
	cr_expect_eq(settings->log_format, LOG_FORMAT_JSON);
	cr_expect_eq(settings->log_target, LOG_TARGET_SYSLOG);
	cr_expect_eq(settings->limits.max_ttl_us, INT64_C(129600000000));
	cr_expect_eq(settings->limits.max_wait_us, INT64_C(5400000000));
	cr_assert_eq(settings->backend_count, 3);
	cr_expect_str_eq(settings->backend[0].value[0].text, "host=db password=geheim");
	cr_expect_eq(settings->backend[0].value[2].number, 250000);
	cr_expect_eq(settings->backend[0].value[4].number, 0);
	cr_expect_eq(settings->backend[0].value[5].number, 1);
	cr_assert_eq(settings->namespace_count, 4);
	cr_expect_not_null(settings_namespace(settings, bytes_of("no")));
	cr_expect_not_null(settings_namespace(settings, bytes_of("0123")));
	cr_expect_null(settings_namespace(settings, bytes_of("jobs")));
	odd = settings_namespace(settings, bytes_of("z\xc3\xa9\n\xf0\x9f\x98\x80\x1b \"q\\"));
	cr_assert_not_null(odd);
	cr_expect_str_eq(settings->backend[odd->backend].name, "mem");
	config_free(settings);
}

Test(config, the_dump_reads_back_as_itself_and_shows_no_secret)
{
	static const char *const texts[] = {whole, "", "namespaces: []\n",
					    "server: { grpc: { uds: [/a, /b] } }\n"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct settings *settings = read_good(texts[i]), *again;
		char *dump = config_case_dump(settings), *second;

		again = read_good(dump);
		second = config_case_dump(again);
		cr_expect_str_eq(dump, second, "%s---\n%s", dump, second);
		cr_expect_null(strstr(dump, "geheim"));
		cr_expect_eq(settings->namespace_count, again->namespace_count);
		cr_expect_eq(settings->listen_count, again->listen_count);
		for (size_t j = 0; j < settings->namespace_count; j++)
			cr_expect(
			    bytes_equal(settings->name_space[j].name, again->name_space[j].name));
		free(dump);
		free(second);
		config_free(settings);
		config_free(again);
	}
}

Test(config, names_resolve_and_loopback_is_judged_by_address)
{
	struct settings *settings = read_good("server: { grpc: { tcp: \"localhost:7777\" } }\n");

	cr_assert_geq(settings->listen_count, 1);
	cr_expect(strcmp(settings->listen[0].host, "127.0.0.1") == 0 ||
		  strcmp(settings->listen[0].host, "::1") == 0);
	cr_expect_str_eq(settings->listen[0].text, "localhost:7777");
	config_free(settings);
	settings =
	    read_good("server: { grpc: { tcp: [\"127.9.9.9:1\", \"[::ffff:127.0.0.1]:1\"] } }\n");
	config_free(settings);
}

Test(config, a_byte_order_mark_and_cr_lf_are_no_matter_B56)
{
	struct settings *settings =
	    read_good("\xef\xbb\xbfserver:\r\n  workers: 2\r\nlimits:\r\n  max_ttl: 1h\r\n");

	cr_expect_eq(settings->workers, 2);
	cr_expect_eq(settings->limits.max_ttl_us, INT64_C(3600000000));
	config_free(settings);
}

Test(config, no_truncated_file_is_more_than_an_error_or_less_configuration, .timeout = 60)
{
	for (size_t len = 0; len <= sizeof whole - 1; len++) {
		char *errors;
		struct settings *settings = config_case_read_bytes(whole, len, &errors);

		cr_expect_neq(settings == NULL, errors[0] == 0, "at %zu", len);
		config_free(settings);
		free(errors);
	}
}

/* Every byte in turn becomes one of those that matter to YAML, and garbage. */
Test(config, no_damaged_file_crashes_the_reader, .timeout = 120)
{
	static const char bytes[] = "\0\t\n\r\"'\\{}[]:,-&*!#%|>?@`~\xff\xc3\x80\x1b";
	char copy[sizeof whole];

	for (size_t at = 0; at < sizeof whole - 1; at++) {
		for (size_t i = at % 4; i < sizeof bytes - 1; i += 4) {
			char *errors;
			struct settings *settings;

			memcpy(copy, whole, sizeof whole);
			copy[at] = bytes[i];
			settings = config_case_read_bytes(copy, sizeof whole - 1, &errors);
			cr_expect_neq(settings == NULL, errors[0] == 0, "at %zu", at);
			config_free(settings);
			free(errors);
		}
	}
}

Test(config, no_random_bytes_crash_the_reader, .timeout = 60)
{
	unsigned state = 1;
	char noise[300];

	for (int round = 0; round < 3000; round++) {
		char *errors;

		for (size_t i = 0; i < sizeof noise; i++) {
			state = state * 1103515245 + 12345;
			noise[i] = round % 2 ? (char)(state >> 16)
					     : "ab: -[]{}\n\"'&*#\t,?|>"[(state >> 16) % 21];
		}
		config_free(config_case_read_bytes(noise, sizeof noise, &errors));
		free(errors);
	}
}

Test(config, a_file_of_the_greatest_size_is_judged_in_bounded_time, .timeout = 30)
{
	static const char *const units[] = {"a,", "[", "? ", "- ", "{a: ", "x\n", "'", "&a "};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t unit = strlen(units[i]), len = CONFIG_FILE_MAX / unit * unit;
		char *text = malloc(len), *errors;

		for (size_t at = 0; at < len; at += unit)
			memcpy(text + at, units[i], unit);
		cr_expect_null(config_case_read_bytes(text, len, &errors), "%s", units[i]);
		free(errors);
		free(text);
	}
}

Test(config, a_new_file_changes_what_may_change_and_keeps_what_may_not)
{
	struct settings *old =
	    read_good("server: { grpc: { tcp: \"127.0.0.1:1\" }, state_dir: /a }\n"
		      "backends:\n"
		      "- { name: one, driver: postgres, options: { dsn: x } }\n"
		      "- { name: two, driver: memory }\n"
		      "namespaces: [ { block: lease, name: a, backend: two } ]\n");
	char *errors;
	struct settings *settings = config_case_renew(
	    old,
	    "server: { grpc: { tcp: \"127.0.0.1:2\" }, state_dir: /b, workers: 7, health: false }\n"
	    "limits: { max_ttl: 5m }\n"
	    "backends:\n"
	    "- { name: two, driver: memory, options: { capacity: 9 } }\n"
	    "- { name: new, driver: memory }\n"
	    "- { name: one, driver: postgres, options: { dsn: y } }\n"
	    "namespaces:\n"
	    "- { block: lease, name: a, backend: one }\n"
	    "- { block: lease, name: b, backend: two }\n"
	    "- { block: lease, name: c, backend: new }\n",
	    &errors);

	cr_assert_not_null(settings, "%s", errors);
	free(errors);
	config_free(old); /* nothing of it may be in use any more */
	cr_expect_str_eq(settings->listen[0].port, "1");
	cr_expect_str_eq(settings->state_dir, "/a");
	cr_expect_eq(settings->workers, 7);
	cr_expect_not(settings->health);
	cr_expect_eq(settings->limits.max_ttl_us, INT64_C(300000000));
	cr_assert_eq(settings->backend_count, 2);
	cr_expect_str_eq(settings->backend[0].name, "one");
	cr_expect_str_eq(settings->backend[0].value[0].text, "x");
	cr_expect_eq(settings->backend[1].value[0].number, 1000000);
	cr_assert_eq(settings->namespace_count, 2);
	cr_expect_eq(settings_namespace(settings, bytes_of("a"))->backend, 0);
	cr_expect_eq(settings_namespace(settings, bytes_of("b"))->backend, 1);
	config_free(settings);
}

Test(config, errors_of_a_new_file_are_one_line_each)
{
	struct settings *old = read_good("");
	char *errors;
	struct settings *settings =
	    config_case_renew(old, "sevrer: 1\nlimits: { max_ttl: 5 }\n", &errors);

	cr_expect_null(settings);
	cr_expect_str_eq(errors,
			 "f.yaml:1:1: error: unknown key \"sevrer\"; did you mean "
			 "\"server\"?\n"
			 "f.yaml:2:20: error: limits.max_ttl: a duration needs a unit: 100ms, "
			 "60s, 5m, 1h30m\n");
	free(errors);
	config_free(old);
}

Test(config, a_worker_reads_the_new_file_from_the_descriptor_it_got)
{
	static const char text[] = "namespaces: [ { block: lease, name: fresh } ]\n";
	struct settings *old = read_good(""), *settings;
	int fd = memfd_create("t", MFD_CLOEXEC);

	cr_assert_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
	settings = config_reload(fd, old);
	cr_assert_not_null(settings);
	cr_expect_not_null(settings_namespace(settings, bytes_of("fresh")));
	cr_expect_str_eq(settings->source, "f.yaml");
	config_free(settings);
	cr_assert_eq(ftruncate(fd, 3), 0);
	cr_expect_null(config_reload(fd, old));
	close(fd);
	config_free(old);
}
