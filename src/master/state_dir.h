/* SPDX-License-Identifier: Apache-2.0
 *
 * master/state_dir.h - the directory for what must survive a reboot. */
#ifndef LEASED_MASTER_STATE_DIR_H
#define LEASED_MASTER_STATE_DIR_H

#include <stddef.h>

#include "base/err.h"

/* Makes `path` (absolute) and what is missing above it, mode 0750, and checks that files can be
 * made there. ERR_SYSTEM with one line in `why`. */
enum err state_dir_make(const char *path, char *why, size_t size);

#endif
