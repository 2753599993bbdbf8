/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/unary.h - the verbs that are one call each. All return the exit status. */
#ifndef LEASED_LEASECTL_UNARY_H
#define LEASED_LEASECTL_UNARY_H

#include "leasectl/options.h"

int unary_acquire(const struct options *options);
int unary_renew(const struct options *options);
int unary_release(const struct options *options);
int unary_inspect(const struct options *options);

/* A client as the options say; what cannot be used ends the process with STATUS_USAGE. */
struct client *unary_client(const struct options *options);

#endif
