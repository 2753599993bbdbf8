/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/settings.h"

static int by_name(const void *name, const void *entry)
{
	const struct namespace_settings *name_space = entry;

	return bytes_compare(*(const struct bytes *)name, name_space->name);
}

const struct namespace_settings *settings_namespace(const struct settings *settings,
						    struct bytes name)
{
	if (settings->namespace_count == 0)
		return NULL;
	return bsearch(&name, settings->name_space, settings->namespace_count,
		       sizeof *settings->name_space, by_name);
}
