/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/signals.h - names of signals. */
#ifndef LEASED_LEASECTL_SIGNALS_H
#define LEASED_LEASECTL_SIGNALS_H

/* USR1, SIGUSR1 or 10; 0 when there is no such signal. */
int signals_number(const char *name);

#endif
