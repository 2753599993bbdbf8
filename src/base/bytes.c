/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"

struct bytes bytes_of(const char *text)
{
	return (struct bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int bytes_compare(struct bytes a, struct bytes b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.data, b.data, common) : 0;

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

bool bytes_start_with(struct bytes text, struct bytes prefix)
{
	return text.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}
