/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "leasectl/signals.h"

int signals_number(const char *name)
{
	const char *known;
	char *end;
	long number = strtol(name, &end, 10);

	if (*name && !*end)
		return number > 0 && number < NSIG ? (int)number : 0;
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		known = sigabbrev_np(i);
		if (known && !strcmp(known, name))
			return i;
	}
	return 0;
}
