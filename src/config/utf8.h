/* SPDX-License-Identifier: Apache-2.0
 *
 * config/utf8.h - walking text by characters and lines as the YAML reader counts them. */
#ifndef LEASED_CONFIG_UTF8_H
#define LEASED_CONFIG_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Length of the character at `at` (< text.len); 1 for a byte that starts none. */
size_t utf8_length(struct bytes text, size_t at);

/* Length of the line break at `at`, 0 when there is none: LF, CR LF, CR, and the three others that
 * YAML 1.1 knows (U+0085, U+2028, U+2029). */
size_t utf8_break(struct bytes text, size_t at);

/* A whole character that shows as something and steers no terminal. */
bool utf8_printable(struct bytes text, size_t at);

#endif
