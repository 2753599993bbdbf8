/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "config/dsn.h"
#include "config/scalar.h"

#define S INT64_C(1000000)

Test(scalar, durations_that_are_meant_are_read_B56)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
	    {"30s", 30 * S},
	    {"1.5h", 5400 * S},
	    {"500ms", S / 2},
	    {"1m30s", 90 * S},
	    {"0s", 0},
	    {"1h30m", 5400 * S},
	    {"24h", 86400 * S},
	    {"1us", 1},
	    {"1h1m1s1ms1us", 3661 * S + 1001},
	    {"0.000001s", 1},
	    {"1m0.5s", 60 * S + S / 2},
	    {"90m", 5400 * S},
	    {"010s", 10 * S}, /* decimal, whatever YAML 1.1 makes of it */
	    {"9223372036854775807us", INT64_MAX},
	    {"2562047788h", INT64_C(2562047788) * 3600 * S},
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t us = -7;

		cr_expect_null(scalar_duration(good[i].text, &us), "%s", good[i].text);
		cr_expect_eq(us, good[i].us, "%s is %lld", good[i].text, (long long)us);
	}
}

Test(scalar, durations_that_could_mean_two_things_are_refused_B56)
{
	static const char unit[] = "a duration needs a unit: 100ms, 60s, 5m, 1h30m";
	static const char none[] = "not a duration such as 100ms, 60s, 5m, 1h30m";
	static const char small[] = "units are lower case: h, m, s, ms, us";
	static const char large[] = "the largest unit is h: 24h is a day";
	static const char fine[] = "too long, or finer than 1us";
	static const struct {
		const char *text, *wrong;
	} bad[] = {
	    {"30", unit},
	    {"0", unit},
	    {"010", unit},
	    {"1.5", unit},
	    {"99999999999999999999", unit},
	    {"-1s", "must not be negative"},
	    {"-1", "must not be negative"},
	    {"1e3s", none},
	    {"30 s", "write it without a space: 30s"},
	    {"30S", small},
	    {"5M", small},
	    {"1H", small},
	    {"1d", large},
	    {"2w", large},
	    {"P1D", none},
	    {".inf", none},
	    {"~", none},
	    {"", none},
	    {"s", none},
	    {"0x10", none},
	    {"1_000s", none},
	    {"1:30", none},
	    {"99999999999999999999s", "too long"},
	    {"9223372036854775808us", "too long"},
	    {"2562047789h", "too long"},
	    {"2562047788h9223372036s", "too long"},
	    {"+5s", none},
	    {".5s", none},
	    {"1.s", none},
	    {"1.0000000001s", none},
	    {"0.0000001s", fine},
	    {"1m1h", none},
	    {"1m1m", none},
	    {"1.5h30m", none},
	    {"1hm", none},
	    {"30s ", none},
	    {" 30s", none},
	    {"30ns", none},
	    {"1h30", none},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t us;
		const char *wrong = scalar_duration(bad[i].text, &us);

		cr_assert_not_null(wrong, "%s", bad[i].text);
		cr_expect_str_eq(wrong, bad[i].wrong, "\"%s\": %s", bad[i].text, wrong);
	}
}

Test(scalar, a_duration_that_is_written_reads_back_as_itself)
{
	static const int64_t values[] = {0,	   1,	       999,	     1000,
					 1001,	   S,	       60 * S,	     3600 * S,
					 5400 * S, 604800 * S, 3661 * S + 7, INT64_MAX};
	char text[48];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		int64_t us;

		scalar_duration_format(values[i], text, sizeof text);
		cr_expect_null(scalar_duration(text, &us), "%s", text);
		cr_expect_eq(us, values[i], "%s", text);
	}
	scalar_duration_format(5400 * S, text, sizeof text);
	cr_expect_str_eq(text, "1h30m");
	scalar_duration_format(100000, text, sizeof text);
	cr_expect_str_eq(text, "100ms");
}

Test(scalar, only_true_and_false_are_truth_values_B56)
{
	static const char *const bad[] = {"yes",  "no", "on", "off", "True",
					  "TRUE", "1",	"0",  "",    "~"};
	int64_t flag = 7;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_str_eq(scalar_bool(bad[i], &flag), "must be true or false");
	cr_expect_eq(flag, 7);
	cr_expect_null(scalar_bool("true", &flag));
	cr_expect_eq(flag, 1);
	cr_expect_null(scalar_bool("false", &flag));
	cr_expect_eq(flag, 0);
}

Test(scalar, a_count_is_plain_decimal)
{
	static const char *const bad[] = {"",	  "-1",	   "+1", "1.0", "1e3",
					  "0x10", "1_000", " 1", "1 ",	"1:30"};
	int64_t number;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_str_eq(scalar_count(bad[i], &number), "not a whole number", "%s", bad[i]);
	cr_expect_str_eq(scalar_count("010", &number), "must not begin with 0");
	cr_expect_str_eq(scalar_count("9223372036854775808", &number), "too big");
	cr_expect_null(scalar_count("9223372036854775807", &number));
	cr_expect_eq(number, INT64_MAX);
	cr_expect_null(scalar_count("0", &number));
	cr_expect_eq(number, 0);
}

Test(dsn, no_form_of_a_password_gets_out)
{
	static const struct {
		const char *dsn, *masked;
	} cases[] = {
	    {"service=leased", "service=leased"},
	    {"host=a user=b", "host=a user=b"},
	    {"host=a password=geheim user=b", "host=a password=* user=b"},
	    {"host=a PASSWORD = geheim", "host=a PASSWORD = *"},
	    {"password='ge heim' host=a", "password=* host=a"},
	    {"password='ge\\' heim' host=a", "password=* host=a"},
	    {"password=ge\\ heim host=a", "password=* host=a"},
	    {"password='geheim", "password=*"},
	    {"sslpassword=geheim sslmode=require", "sslpassword=* sslmode=require"},
	    {"user=password host=a", "user=password host=a"},
	    {"postgres://u:geheim@h/db", "postgres://u:*@h/db"},
	    {"postgres://u@h/db", "postgres://u@h/db"},
	    {"postgresql://h:5432/db?password=geheim&x=y", "postgresql://h:5432/db?password=*&x=y"},
	    {"postgres://u:ge@heim@h/db", "postgres://u:*@h/db"},
	    {"postgres://u:ge/heim@h/db", "postgres://u:*@h/db"},
	    {"postgres://u:ge?heim@h/db", "postgres://u:*@h/db"},
	    {"postgres://:geheim@h", "postgres://:*@h"},
	    {"", ""},
	};
	char out[200];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool masked = dsn_mask(cases[i].dsn, "*", out, sizeof out);

		cr_expect_str_eq(out, cases[i].masked, "%s", out);
		cr_expect_eq(masked, strcmp(cases[i].dsn, cases[i].masked) != 0);
	}
	dsn_mask("password=geheim", "********", out, 12);
	cr_expect_str_eq(out, "password=**");
}
