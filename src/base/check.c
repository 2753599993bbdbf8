/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/check.h"
#include "base/log.h"

void check_failed(const char *file, int line, const char *what)
{
	log_write(LEVEL_BUG, "check failed", LOG_TEXT("file", file), LOG_INT("line", line),
		  LOG_TEXT("condition", what), LOG_END);
	abort();
}
