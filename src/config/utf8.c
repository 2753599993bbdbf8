/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <unistr.h>

#include "config/utf8.h"

size_t utf8_length(struct bytes text, size_t at)
{
	ucs4_t code;
	int length = u8_mbtoucr(&code, text.data + at, text.len - at);

	return length > 0 ? (size_t)length : 1;
}

size_t utf8_break(struct bytes text, size_t at)
{
	const uint8_t *data = text.data + at;
	size_t rest = text.len - at;

	if (rest == 0)
		return 0;
	if (data[0] == '\n')
		return 1;
	if (data[0] == '\r')
		return rest > 1 && data[1] == '\n' ? 2 : 1;
	if (rest > 1 && memcmp(data, "\xc2\x85", 2) == 0)
		return 2;
	if (rest > 2 &&
	    (memcmp(data, "\xe2\x80\xa8", 3) == 0 || memcmp(data, "\xe2\x80\xa9", 3) == 0))
		return 3;
	return 0;
}

bool utf8_printable(struct bytes text, size_t at)
{
	ucs4_t code;

	if (u8_mbtoucr(&code, text.data + at, text.len - at) <= 0)
		return false;
	/* C0 and C1 controls, marks that turn the direction of text, odd spaces and breaks. */
	return code >= ' ' && !(code >= 0x7f && code <= 0x9f) &&
	       !(code >= 0x200b && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2060 && code <= 0x206f) && code != 0xfeff;
}
