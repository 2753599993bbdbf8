/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "admin/admin.h"
#include "admin/metrics.h"
#include "base/log.h"

enum { CONNECTIONS = 64, TIMEOUT_S = 10, MEMORY = 16384 };

struct page {
	unsigned status;
	const char *type;
	char *text; /* to be freed by the library */
	size_t size;
};

static bool ready(const struct admin_setup *setup)
{
	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		if (board_is_live(setup->board, slot))
			return true;
	return false;
}

static struct page plain(unsigned status, const char *text)
{
	char *copy = strdup(text);

	return (struct page){status, "text/plain; charset=utf-8", copy, copy ? strlen(copy) : 0};
}

static struct page page_of(const struct admin_setup *setup, const char *url)
{
	struct page page = {MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", NULL, 0};

	if (strcmp(url, setup->settings->metrics_path) == 0) {
		page.text = metrics_write(setup, &page.size);
		return page;
	}
	if (strcmp(url, "/healthz") == 0)
		return plain(MHD_HTTP_OK, "ok\n");
	if (strcmp(url, "/readyz") == 0)
		return ready(setup) ? plain(MHD_HTTP_OK, "ok\n")
				    : plain(MHD_HTTP_SERVICE_UNAVAILABLE, "no worker serves\n");
	return plain(MHD_HTTP_NOT_FOUND, "not found\n");
}

static enum MHD_Result send_page(struct MHD_Connection *connection, struct page page)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	if (!page.text)
		return MHD_NO;
	response = MHD_create_response_from_buffer(page.size, page.text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(page.text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, page.status, response);
	MHD_destroy_response(response);
	return result;
}

/* NOLINTBEGIN(readability-non-const-parameter) */
/* WHY: eight parameters are what the library calls with. */
static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	(void)version, (void)upload, (void)upload_size, (void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_page(connection,
				 plain(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n"));
	return send_page(connection, page_of(arg, url));
}
/* NOLINTEND(readability-non-const-parameter) */

int admin_run(const struct admin_setup *setup)
{
	struct MHD_Daemon *daemon =
	    MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, answer,
			     (void *)(uintptr_t)setup, MHD_OPTION_LISTEN_SOCKET, setup->listen,
			     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
			     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);

	if (!daemon) {
		log_error("metrics cannot be served");
		return 1;
	}
	for (;;)
		pause();
}
