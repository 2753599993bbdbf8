/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/health/v1/health.pb-c.h"

#include "worker/allocator.h"
#include "worker/health.h"

static const char lease_service[] = "mindd.lease.v1.Lease";

static bool backend_up(const struct server *server, size_t backend)
{
	const struct driver *driver = server->setup->settings->backend[backend].driver;

	return driver->health(server->driver[backend]) == ERR_OK;
}

static bool all_up(const struct server *server)
{
	for (size_t i = 0; i < server->setup->settings->backend_count; i++)
		if (!backend_up(server, i))
			return false;
	return true;
}

int health_state(const struct server *server, struct bytes service)
{
	const struct settings *settings = server->settings;
	struct bytes lease = bytes_of(lease_service);
	const struct namespace_settings *name_space;
	bool up;

	if (service.len == 0 || bytes_equal(service, lease)) {
		up = all_up(server);
	} else {
		if (!bytes_start_with(service, lease) || service.data[lease.len] != '/')
			return HEALTH_UNKNOWN_SERVICE;
		name_space =
		    settings_namespace(settings, (struct bytes){service.data + lease.len + 1,
								service.len - lease.len - 1});
		if (!name_space)
			return HEALTH_UNKNOWN_SERVICE;
		up = backend_up(server, name_space->backend);
	}
	return up && !server->draining ? HEALTH_SERVING : HEALTH_NOT_SERVING;
}

bool health_decode(struct arena *arena, struct bytes message, struct bytes *service)
{
	ProtobufCAllocator allocator = allocator_of(arena);
	Grpc__Health__V1__HealthCheckRequest *request =
	    grpc__health__v1__health_check_request__unpack(&allocator, message.len, message.data);

	if (!request)
		return false;
	*service = bytes_of(request->service);
	return true;
}

grpc_slice health_encode(int state)
{
	Grpc__Health__V1__HealthCheckResponse response =
	    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
	grpc_slice slice;

	response.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)state;
	slice =
	    grpc_slice_malloc(grpc__health__v1__health_check_response__get_packed_size(&response));
	grpc__health__v1__health_check_response__pack(&response, GRPC_SLICE_START_PTR(slice));
	return slice;
}
