/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

static const struct {
	const char *reason;
	const char *text;
} table[] = {
#define ERR(name, reason, text) [ERR_##name] = {reason, text},
#include "base/err.def"
#undef ERR
};

const char *err_text(enum err err)
{
	return table[err].text;
}

const char *err_reason(enum err err)
{
	return table[err].reason;
}
