/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/health.h - grpc.health.v1. */
#ifndef LEASED_LEASECTL_HEALTH_H
#define LEASED_LEASECTL_HEALTH_H

#include "leasectl/options.h"

/* Asks for options->rest[0], or for the whole server. STATUS_OK when it serves, STATUS_NO when not.
 */
int health_main(const struct options *options);

#endif
