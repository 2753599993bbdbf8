/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/relay.h - signals of `run`: to the command, to the process itself while it waits, and
 * what the command's own stops and ends mean. */
#ifndef LEASED_LEASECTL_RELAY_H
#define LEASED_LEASECTL_RELAY_H

#include <sys/signalfd.h>

#include "leasectl/supervisor.h"

void relay_signal(struct supervisor *supervisor, const struct signalfd_siginfo *info);

/* SIGCHLD: reaps all there is. */
void relay_reap(struct supervisor *supervisor);

#endif
