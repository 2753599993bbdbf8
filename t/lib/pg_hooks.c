/* SPDX-License-Identifier: Apache-2.0
 *
 * A Postgres for the tests of one Criterion program. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>

#include "pg_server.h"

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
	(void)tests;
	pg_server_begin();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
	(void)stats;
	pg_server_end();
}
