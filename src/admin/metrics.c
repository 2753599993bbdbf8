/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/metrics.h"
#include "base/clock.h"
#include "config.h"

#define SECONDS(us) ((double)(us) / CLOCK_SECOND)

static const char *const method[METER_METHODS] = {[OP_ACQUIRE] = "Acquire",
						  [OP_RENEW] = "Renew",
						  [OP_RELEASE] = "Release",
						  [OP_INSPECT] = "Inspect",
						  [OP_LIST] = "List"};

/* As the libraries of gRPC name them in metrics. */
static const char *const code[METER_CODES] = {
    "OK",	"Canceled",	  "Unknown",	      "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",	"OutOfRange",	  "Unimplemented",    "Internal",	   "Unavailable",
    "DataLoss", "Unauthenticated"};

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_calls(FILE *out, const struct meter_sums *sums)
{
	head(out, "grpc_server_handled_total", "counter",
	     "Calls that were answered, by method and code.");
	for (int i = 0; i < METER_METHODS; i++)
		for (int j = 0; j < METER_CODES; j++)
			if (sums->code[i][j] || j == 0)
				fprintf(out,
					"grpc_server_handled_total{grpc_type=\"unary\","
					"grpc_service=\"mindd.lease.v1.Lease\",grpc_method=\"%s\","
					"grpc_code=\"%s\"} %" PRIu64 "\n",
					method[i], code[j], sums->code[i][j]);
}

static void write_results(FILE *out, const struct meter_sums *sums)
{
	head(out, "leased_results_total", "counter",
	     "Calls that were answered, by method and reason; OK for success.");
	for (int i = 0; i < METER_METHODS; i++)
		for (int j = 0; j <= ERR_BUG; j++) {
			const char *reason = j == ERR_OK ? "OK" : err_reason((enum err)j);

			if ((sums->result[i][j] || j == ERR_OK) && reason[0])
				fprintf(out,
					"leased_results_total{method=\"%s\",reason=\"%s\"} %" PRIu64
					"\n",
					method[i], reason, sums->result[i][j]);
		}
}

static void write_waits(FILE *out, const struct meter_sums *sums)
{
	uint64_t count = 0;

	head(out, "leased_acquire_wait_seconds", "histogram",
	     "Time that an Acquire stood in line before it was granted.");
	for (int i = 0; i < METER_WAITS - 1; i++) {
		count += sums->wait[i];
		fprintf(out, "leased_acquire_wait_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
			SECONDS(meter_wait_bound[i]), count);
	}
	count += sums->wait[METER_WAITS - 1];
	fprintf(out,
		"leased_acquire_wait_seconds_bucket{le=\"+Inf\"} %" PRIu64
		"\nleased_acquire_wait_seconds_sum %.6f\nleased_acquire_wait_seconds_count %" PRIu64
		"\n",
		count, SECONDS(sums->wait_us), count);
}

static void write_workers(FILE *out, const struct admin_setup *setup)
{
	unsigned live = 0;

	head(out, "leased_worker_calls_total", "counter", "Calls that each worker answered.");
	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++) {
		struct meter_sums sums;
		uint64_t calls = 0;

		live += board_is_live(setup->board, slot);
		if (!board_is_live(setup->board, slot) && slot >= setup->settings->workers)
			continue;
		meter_read(setup->meter, slot, &sums);
		for (int i = 0; i < METER_METHODS; i++)
			for (int j = 0; j < METER_CODES; j++)
				calls += sums.code[i][j];
		fprintf(out, "leased_worker_calls_total{worker=\"%u\"} %" PRIu64 "\n", slot, calls);
	}
	head(out, "leased_workers_ready", "gauge", "Workers that serve.");
	fprintf(out, "leased_workers_ready %u\n", live);
	head(out, "leased_worker_restarts_total", "counter",
	     "Workers that were started because another one had died.");
	fprintf(out, "leased_worker_restarts_total %" PRIu64 "\n", meter_restarts(setup->meter));
}

static void write_backends(FILE *out, const struct admin_setup *setup)
{
	head(out, "leased_backend_up", "gauge",
	     "Whether the backend answers every worker that serves.");
	for (size_t i = 0; i < setup->settings->backend_count; i++) {
		const struct backend_settings *backend = &setup->settings->backend[i];
		bool up = true;

		for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
			if (board_is_live(setup->board, slot))
				up = up && meter_backend_up(setup->meter, slot, i);
		fprintf(out, "leased_backend_up{backend=\"%s\",driver=\"%s\"} %d\n", backend->name,
			backend->driver->name, up);
	}
}

static void write_server(FILE *out, const struct admin_setup *setup)
{
	bool good;
	int64_t wall_us;

	head(out, "leased_build_info", "gauge", "Always 1; the version is in the label.");
	fprintf(out, "leased_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	head(out, "leased_start_time_seconds", "gauge", "When the master started, Unix time.");
	fprintf(out, "leased_start_time_seconds %.3f\n", SECONDS(setup->started_us));
	meter_reload(setup->meter, &good, &wall_us);
	head(out, "leased_config_last_reload_successful", "gauge",
	     "Whether the configuration was valid when it was read last.");
	fprintf(out, "leased_config_last_reload_successful %d\n", good);
	head(out, "leased_config_last_reload_success_timestamp_seconds", "gauge",
	     "When a valid configuration was read last, Unix time.");
	fprintf(out, "leased_config_last_reload_success_timestamp_seconds %.3f\n",
		SECONDS(wall_us ? wall_us : setup->started_us));
}

char *metrics_write(const struct admin_setup *setup, size_t *size)
{
	struct meter_sums sums;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	meter_read(setup->meter, DRIVER_WORKERS_MAX, &sums);
	write_server(out, setup);
	write_workers(out, setup);
	write_backends(out, setup);
	write_calls(out, &sums);
	write_results(out, &sums);
	write_waits(out, &sums);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
