/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/health.h - what grpc.health.v1 says of this worker. */
#ifndef LEASED_WORKER_HEALTH_H
#define LEASED_WORKER_HEALTH_H

#include <grpc/slice.h>

#include "worker/server.h"

/* Values of HealthCheckResponse.ServingStatus. */
enum { HEALTH_SERVING = 1, HEALTH_NOT_SERVING = 2, HEALTH_UNKNOWN_SERVICE = 3 };

/* State of a service name: "" (all backends), "mindd.lease.v1.Lease" (likewise) or
 * "mindd.lease.v1.Lease/<namespace>" (its backend). NOT_SERVING while draining. No I/O. */
int health_state(const struct server *server, struct bytes service);

/* The service name of a HealthCheckRequest; false when malformed. In `arena`. */
bool health_decode(struct arena *arena, struct bytes message, struct bytes *service);

/* A packed HealthCheckResponse; the caller owns it. */
grpc_slice health_encode(int state);

#endif
