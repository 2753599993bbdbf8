/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "grpc/health/v1/health.pb-c.h"

#include "base/clock.h"
#include "leasectl/failure.h"
#include "leasectl/health.h"
#include "leasectl/show.h"
#include "leasectl/unary.h"

static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};

static int end(const struct options *options, const struct call *call)
{
	Grpc__Health__V1__HealthCheckResponse *answer =
	    call->code == GRPC_STATUS_OK ? grpc__health__v1__health_check_response__unpack(
					       NULL, call->answer.len, call->answer.data)
					 : NULL;
	struct failure failure;
	unsigned status;

	if (!answer) {
		failure_read(call, &failure);
		failure_print(&failure, options->client.endpoint);
		return failure_status(&failure);
	}
	status = (unsigned)answer->status;
	grpc__health__v1__health_check_response__free_unpacked(answer, NULL);
	if (status >= sizeof names / sizeof *names)
		status = 0;
	if (options->output == OUTPUT_JSON || options->output == OUTPUT_JSONL)
		show_json_print(json_pack("{s:s}", "status", names[status]), options->output);
	else
		puts(names[status]);
	return status == 1 ? STATUS_OK : STATUS_NO;
}

int health_main(const struct options *options)
{
	Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
	struct client *client = unary_client(options);
	struct call call;
	int status;

	if (options->rest[0])
		request.service = options->rest[0];
	client_ask(client, &call, "/grpc.health.v1.Health/Check", &request.base,
		   clock_boot_us() + options->timeout_us);
	status = end(options, &call);
	call_free(client, &call);
	client_close(client);
	return status;
}
