/* SPDX-License-Identifier: Apache-2.0
 *
 * What a wrong file is answered with, to the letter: place, line, caret and suggestion. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "config_case.h"

struct error_case {
	const char *yaml, *expected;
};

static void judge(const struct error_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *errors;
		struct settings *settings = config_case_read(cases[i].yaml, &errors);

		cr_expect_null(settings, "accepted: %s", cases[i].yaml);
		cr_expect_str_eq(errors, cases[i].expected,
				 "\n--- for\n%s--- got\n%s--- expected\n%s", cases[i].yaml, errors,
				 cases[i].expected);
		config_free(settings);
		free(errors);
	}
}
#define JUDGE(cases) judge((cases), sizeof(cases) / sizeof *(cases))

Test(config_errors, unknown_and_duplicate_keys_are_named_at_every_level_B56)
{
	static const struct error_case cases[] = {
	    {"namespaces:\n"
	     "  - { block: lease, name: locks, backnd: memory }\n",
	     "f.yaml:2:34: error: unknown key \"backnd\" in namespaces[0]\n"
	     "      - { block: lease, name: locks, backnd: memory }\n"
	     "                                     ^~~~~~  did you mean \"backend\"?\n"},
	    {"auht: { verifier: none }\n", "f.yaml:1:1: error: unknown key \"auht\"\n"
					   "    auht: { verifier: none }\n"
					   "    ^~~~  did you mean \"auth\"?\n"},
	    {"reflection: false\n", "f.yaml:1:1: error: unknown key \"reflection\"\n"
				    "    reflection: false\n"
				    "    ^~~~~~~~~~  did you mean \"server.reflection\"?\n"},
	    {"server: { grcp: {} }\n", "f.yaml:1:11: error: unknown key \"grcp\" in server\n"
				       "    server: { grcp: {} }\n"
				       "              ^~~~  did you mean \"grpc\"?\n"},
	    {"server:\n  grpc:\n    tls:\n      cert: x\n",
	     "f.yaml:4:7: error: unknown key \"cert\" in server.grpc.tls\n"
	     "          cert: x\n"
	     "          ^~~~\n"},
	    {"zebra: 1\n", "f.yaml:1:1: error: unknown key \"zebra\"\n"
			   "    zebra: 1\n"
			   "    ^~~~~\n"},
	    {"backends:\n- { name: m, driver: memory, options: { capacty: 1 } }\n",
	     "f.yaml:2:41: error: unknown key \"capacty\" in backends[0].options\n"
	     "    - { name: m, driver: memory, options: { capacty: 1 } }\n"
	     "                                            ^~~~~~~  did you mean \"capacity\"?\n"},
	    {"limits:\n  max_ttl: 1h\n  max_ttl: 2h\n",
	     "f.yaml:3:3: error: duplicate key \"max_ttl\" in limits (first in line 2)\n"
	     "      max_ttl: 2h\n"
	     "      ^~~~~~~\n"},
	    {"limits: {}\nserver: {}\nlimits: {}\n",
	     "f.yaml:3:1: error: duplicate key \"limits\" (first in line 1)\n"
	     "    limits: {}\n"
	     "    ^~~~~~\n"},
	    {"<<: {}\n", "f.yaml:1:1: error: unknown key \"<<\"\n"
			 "    <<: {}\n"
			 "    ^~\n"},
	    {"\"a\\nb\\e[2J\": 1\n", "f.yaml:1:1: error: unknown key \"a?b?[2J\"\n"
				     "    \"a\\nb\\e[2J\": 1\n"
				     "    ^~~~~~~~~~~\n"},
	};

	JUDGE(cases);
}

Test(config_errors, values_of_the_wrong_kind_or_size_are_named)
{
	static const struct error_case cases[] = {
	    {"server: { shutdown_timeout: 30 }\n", "f.yaml:1:29: error: server.shutdown_timeout: a "
						   "duration needs a unit: 100ms, 60s, 5m, "
						   "1h30m\n"
						   "    server: { shutdown_timeout: 30 }\n"
						   "                                ^~\n"},
	    {"server: { shutdown_timeout: \"30\" }\n",
	     "f.yaml:1:29: error: server.shutdown_timeout: a duration needs a unit: 100ms, 60s, "
	     "5m, "
	     "1h30m\n"
	     "    server: { shutdown_timeout: \"30\" }\n"
	     "                                ^~~~\n"},
	    {"server: { shutdown_timeout: 11s }\n",
	     "f.yaml:1:29: error: server.shutdown_timeout: 11s is out of range, 0s to 10s\n"
	     "    server: { shutdown_timeout: 11s }\n"
	     "                                ^~~\n"},
	    {"limits: { max_ttl: 0s }\n",
	     "f.yaml:1:20: error: limits.max_ttl: 0s is out of range, 1ms to 87600h\n"
	     "    limits: { max_ttl: 0s }\n"
	     "                       ^~\n"},
	    {"limits: { max_wait: [1s] }\n",
	     "f.yaml:1:21: error: limits.max_wait must be one value, not a list\n"
	     "    limits: { max_wait: [1s] }\n"
	     "                        ^\n"},
	    {"limits: { max_wait: }\n", "f.yaml:1:21: error: limits.max_wait has no value\n"
					"    limits: { max_wait: }\n"
					"                        ^\n"},
	    {"server: { workers: 65 }\n",
	     "f.yaml:1:20: error: server.workers: 65 is out of range, 0 to 64\n"
	     "    server: { workers: 65 }\n"
	     "                       ^~\n"},
	    {"server: { workers: four }\n",
	     "f.yaml:1:20: error: server.workers: not a whole number\n"
	     "    server: { workers: four }\n"
	     "                       ^~~~\n"},
	    {"server: { health: yes }\n",
	     "f.yaml:1:19: error: server.health: must be true or false\n"
	     "    server: { health: yes }\n"
	     "                      ^~~  did you mean \"true\"?\n"},
	    {"server: { reflection: off }\n",
	     "f.yaml:1:23: error: server.reflection: must be true or false\n"
	     "    server: { reflection: off }\n"
	     "                          ^~~  did you mean \"false\"?\n"},
	    {"observability: { logging: { level: warning } }\n",
	     "f.yaml:1:36: error: observability.logging.level: unknown value \"warning\" (known: "
	     "debug, info, warn, error)\n"
	     "    observability: { logging: { level: warning } }\n"
	     "                                       ^~~~~~~  did you mean \"warn\"?\n"},
	    {"server: 5\n", "f.yaml:1:9: error: server must be a map of keys, not a value\n"
			    "    server: 5\n"
			    "            ^\n"},
	    {"- a\n", "f.yaml:1:1: error: the file must be a map of keys, not a list\n"
		      "    - a\n"
		      "    ^\n"},
	    {"hello\n", "f.yaml:1:1: error: the file must be a map of keys, not a value\n"
			"    hello\n"
			"    ^~~~~\n"},
	    {"server: { state_dir: state }\n",
	     "f.yaml:1:22: error: server.state_dir: the path must be absolute\n"
	     "    server: { state_dir: state }\n"
	     "                         ^~~~~\n"},
	    {"auth: { verifier: tokens }\n",
	     "f.yaml:1:19: error: auth.verifier: auth.tokens_file is needed\n"
	     "    auth: { verifier: tokens }\n"
	     "                      ^~~~~~\n"},
	    {"server: { grpc: { tls: { cert_file: /c } } }\n",
	     "f.yaml:1:26: error: server.grpc.tls.cert_file: TLS is not supported yet\n"
	     "    server: { grpc: { tls: { cert_file: /c } } }\n"
	     "                             ^~~~~~~~~\n"},
	};

	JUDGE(cases);
}

Test(config_errors, addresses_are_judged_where_they_stand)
{
	static const struct error_case cases[] = {
	    {"server: { grpc: { tcp: \"0.0.0.0:7777\" } }\n",
	     "f.yaml:1:24: error: 0.0.0.0:7777 is reachable from other hosts and nobody has to "
	     "prove "
	     "who they are; write \"auth: { verifier: none }\" if that is meant\n"
	     "    server: { grpc: { tcp: \"0.0.0.0:7777\" } }\n"
	     "                           ^~~~~~~~~~~~~~\n"},
	    {"server: { grpc: { tcp: [\"[::1]:1\", \":7777\"] } }\n",
	     "f.yaml:1:36: error: :7777 is reachable from other hosts and nobody has to prove who "
	     "they are; write \"auth: { verifier: none }\" if that is meant\n"
	     "    server: { grpc: { tcp: [\"[::1]:1\", \":7777\"] } }\n"
	     "                                       ^~~~~~~\n"},
	    {"server: { grpc: { tcp: \"[2001:db8::1]:1\" } }\n",
	     "f.yaml:1:24: error: [2001:db8::1]:1 is reachable from other hosts and nobody has to "
	     "prove who they are; write \"auth: { verifier: none }\" if that is meant\n"
	     "    server: { grpc: { tcp: \"[2001:db8::1]:1\" } }\n"
	     "                           ^~~~~~~~~~~~~~~~~\n"},
	    {"server: { grpc: { tcp: 7777 } }\n",
	     "f.yaml:1:24: error: server.grpc.tcp: an address is host:port, [v6]:port or :port\n"
	     "    server: { grpc: { tcp: 7777 } }\n"
	     "                           ^~~~\n"},
	    {"server: { grpc: { tcp: \"::1:7777\" } }\n",
	     "f.yaml:1:24: error: server.grpc.tcp: an IPv6 address stands in brackets: [::1]:7777\n"
	     "    server: { grpc: { tcp: \"::1:7777\" } }\n"
	     "                           ^~~~~~~~~~\n"},
	    {"server: { grpc: { tcp: \"127.0.0.1:65536\" } }\n",
	     "f.yaml:1:24: error: server.grpc.tcp: the port must be a number, 0 to 65535\n"
	     "    server: { grpc: { tcp: \"127.0.0.1:65536\" } }\n"
	     "                           ^~~~~~~~~~~~~~~~~\n"},
	    {"server: { grpc: { tcp: [\"127.0.0.1:1\", \"127.0.0.1:1\"] } }\n",
	     "f.yaml:1:40: error: address 127.0.0.1:1 is there twice\n"
	     "    server: { grpc: { tcp: [\"127.0.0.1:1\", \"127.0.0.1:1\"] } }\n"
	     "                                           ^~~~~~~~~~~~~\n"},
	    {"server: { grpc: { uds: run/x.sock } }\n",
	     "f.yaml:1:24: error: server.grpc.uds: the path must be absolute\n"
	     "    server: { grpc: { uds: run/x.sock } }\n"
	     "                           ^~~~~~~~~~\n"},
	    {"server: { grpc: { tcp: [] } }\n", "f.yaml:1:19: error: no address to listen on\n"
						"    server: { grpc: { tcp: [] } }\n"
						"                      ^~~\n"},
	};

	JUDGE(cases);
}

Test(config_errors, backends_and_namespaces_must_fit_together)
{
	static const struct error_case cases[] = {
	    {"backends: [ { name: pg-main, driver: postgres } ]\n"
	     "namespaces: [ { block: lease, name: a, backend: pg-man } ]\n",
	     "f.yaml:2:49: error: namespaces[0].backend: backend \"pg-man\" is not defined under "
	     "backends\n"
	     "    namespaces: [ { block: lease, name: a, backend: pg-man } ]\n"
	     "                                                    ^~~~~~  did you mean "
	     "\"pg-main\"?\n"},
	    {"namespaces:\n- { block: lease, name: a }\n- { block: lease, name: a }\n",
	     "f.yaml:3:25: error: namespace \"a\" is there twice\n"
	     "    - { block: lease, name: a }\n"
	     "                            ^\n"},
	    {"namespaces: [ { block: leese, name: a } ]\n",
	     "f.yaml:1:24: error: namespaces[0].block: unknown block \"leese\"\n"
	     "    namespaces: [ { block: leese, name: a } ]\n"
	     "                           ^~~~~  did you mean \"lease\"?\n"},
	    {"namespaces: [ { name: a } ]\n",
	     "f.yaml:1:15: error: namespaces[0] needs a block, such as lease\n"
	     "    namespaces: [ { name: a } ]\n"
	     "                  ^\n"},
	    {"namespaces: [ { block: lease } ]\n",
	     "f.yaml:1:15: error: namespaces[0] needs a name\n"
	     "    namespaces: [ { block: lease } ]\n"
	     "                  ^\n"},
	    {"namespaces: [ { block: lease, name: \"\" } ]\n",
	     "f.yaml:1:37: error: namespaces[0].name has no value\n"
	     "    namespaces: [ { block: lease, name: \"\" } ]\n"
	     "                                        ^~\n"},
	    {"namespaces: [ locks ]\n",
	     "f.yaml:1:15: error: namespaces[0] must be a map of keys, not a value\n"
	     "    namespaces: [ locks ]\n"
	     "                  ^~~~~\n"},
	    {"namespaces: { block: lease }\n", "f.yaml:1:13: error: namespaces must be a list\n"
					       "    namespaces: { block: lease }\n"
					       "                ^\n"},
	    {"backends: [ { name: a, driver: memory }, { name: a, driver: memory } ]\n",
	     "f.yaml:1:50: error: backend \"a\" is there twice\n"
	     "    backends: [ { name: a, driver: memory }, { name: a, driver: memory } ]\n"
	     "                                                     ^\n"},
	    {"backends: [ { name: a, driver: postgress } ]\n",
	     "f.yaml:1:32: error: backends[0].driver: unknown driver \"postgress\" (known: memory, "
	     "postgres)\n"
	     "    backends: [ { name: a, driver: postgress } ]\n"
	     "                                   ^~~~~~~~~  did you mean \"postgres\"?\n"},
	    {"backends: [ { driver: memory } ]\n", "f.yaml:1:13: error: backends[0] needs a name\n"
						   "    backends: [ { driver: memory } ]\n"
						   "                ^\n"},
	    {"backends: [ { name: ../x, driver: memory } ]\n",
	     "f.yaml:1:21: error: backends[0].name: at most 64 letters, digits, '_', '-' and '.', "
	     "not "
	     "first a '.'\n"
	     "    backends: [ { name: ../x, driver: memory } ]\n"
	     "                        ^~~~\n"},
	    {"backends: [ { name: a, driver: postgres, options: { poll: 1us } } ]\n",
	     "f.yaml:1:59: error: backends[0].options.poll: 1us is out of range, 1ms to 1m\n"
	     "    backends: [ { name: a, driver: postgres, options: { poll: 1us } } ]\n"
	     "                                                              ^~~\n"},
	};

	JUDGE(cases);
}

Test(config_errors, what_yaml_could_hide_is_refused_B56)
{
	static const struct error_case cases[] = {
	    {"a: &x [ ]\n", "f.yaml:1:4: error: anchors (&name) are not supported\n"
			    "    a: &x [ ]\n"
			    "       ^\n"},
	    {"a: *x\n", "f.yaml:1:4: error: aliases (*name) are not supported\n"
			"    a: *x\n"
			"       ^\n"},
	    {"server: !!map {}\n", "f.yaml:1:9: error: tags (!type) are not supported\n"
				   "    server: !!map {}\n"
				   "            ^\n"},
	    {"server: {}\n---\nserver: {}\n",
	     "f.yaml:2:1: error: only one document is allowed in the file\n"
	     "    ---\n"
	     "    ^\n"},
	    {"? [a]\n: b\n", "f.yaml:1:3: error: a key must be a plain word\n"
			     "    ? [a]\n"
			     "      ^\n"},
	    {"a: \"x\\0y\"\n", "f.yaml:1:4: error: a value must not contain a NUL character\n"
			       "    a: \"x\\0y\"\n"
			       "       ^~~~~~\n"},
	    {"[[[[[[[[[[[[[[[[[\n", "f.yaml:1:17: error: nested too deeply\n"
				    "    [[[[[[[[[[[[[[[[[\n"
				    "                    ^\n"},
	    {"server:\n\tgrpc: {}\n", "f.yaml:2:1: error: a tab cannot indent here, use spaces\n"
				      "    \tgrpc: {}\n"
				      "    ^\n"},
	    {"namespaces:\n  - { block: lease\n", "f.yaml:3:1: error: did not find expected ',' or "
						  "'}' while parsing a flow mapping that "
						  "begins at 2:5\n"
						  "    \n"
						  "    ^\n"},
	    {"a: \xff\n", "f.yaml:1:4: error: invalid leading UTF-8 octet\n"
			  "    a: ?\n"
			  "       ^\n"},
	    {"\xc3\xa4\xc3\xb6: \x1b[2J\n",
	     "f.yaml:1:5: error: control characters are not allowed\n"
	     "    \xc3\xa4\xc3\xb6: ?[2J\n"
	     "        ^\n"},
	};

	JUDGE(cases);
}

Test(config_errors, all_errors_come_in_one_run_in_the_order_of_the_file)
{
	static const struct error_case cases[] = {
	    {"limits: { max_ttl: 1 }\r\n"
	     "server: { workrs: 1, workers: 99 }\r\n"
	     "namespaces: [ { block: lease, name: a, backend: b } ]\r\n",
	     "f.yaml:1:20: error: limits.max_ttl: a duration needs a unit: 100ms, 60s, 5m, 1h30m\n"
	     "    limits: { max_ttl: 1 }\n"
	     "                       ^\n"
	     "f.yaml:2:11: error: unknown key \"workrs\" in server\n"
	     "    server: { workrs: 1, workers: 99 }\n"
	     "              ^~~~~~  did you mean \"workers\"?\n"
	     "f.yaml:2:31: error: server.workers: 99 is out of range, 0 to 64\n"
	     "    server: { workrs: 1, workers: 99 }\n"
	     "                                  ^~\n"
	     "f.yaml:3:49: error: namespaces[0].backend: backend \"b\" is not defined under "
	     "backends\n"
	     "    namespaces: [ { block: lease, name: a, backend: b } ]\n"
	     "                                                    ^\n"},
	};

	JUDGE(cases);
}

Test(config_errors, a_flood_of_errors_is_counted_not_printed)
{
	char *yaml = malloc(200 * 8 + 1), *errors, *end;
	struct settings *settings;

	yaml[0] = 0;
	for (int i = 0; i < 200; i++)
		sprintf(yaml + strlen(yaml), "k%d: 1\n", i);
	settings = config_case_read(yaml, &errors);
	cr_expect_null(settings);
	end = strstr(errors, "f.yaml: error: ");
	cr_assert_not_null(end);
	cr_expect_str_eq(end, "f.yaml: error: 100 more errors are not shown\n");
	free(errors);
	free(yaml);
}

Test(config_errors, only_the_part_around_the_spot_of_a_long_line_is_shown)
{
	char *yaml = malloc(4096), *errors, *line;

	memset(yaml, ' ', 4096);
	memcpy(yaml, "limits: {", 9);
	strcpy(yaml + 3000, "maxttl: 1h }\n");
	cr_expect_null(config_case_read(yaml, &errors));
	line = strchr(errors, '\n') + 1;
	cr_expect_lt(strcspn(line, "\n"), 200);
	cr_expect_not_null(strstr(line, "maxttl: 1h }\n"));
	cr_expect_not_null(strstr(line, "^~~~~~  did you mean \"max_ttl\"?\n"));
	cr_expect_eq(strchr(line, '^') - strchr(line, '\n') - 1, strchr(line, 'm') - line);
	free(errors);
	free(yaml);
}
