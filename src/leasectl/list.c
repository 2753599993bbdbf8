/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/list.h"
#include "leasectl/show.h"
#include "leasectl/unary.h"

enum { PAGE = 1000 };

/* Takes one answer; the token of the next page, or an empty one at the end. */
static bool take_page(const struct call *call, list_each_f *each, void *context,
		      struct bytes *token)
{
	Leased__Wire__ListResponse *page = call->code == GRPC_STATUS_OK ? lease_listed(call) : NULL;

	free((void *)(uintptr_t)token->data);
	*token = (struct bytes){NULL, 0};
	if (!page)
		return false;
	for (size_t i = 0; i < page->n_leases; i++)
		each(context, page->leases[i]);
	if (page->next_page_token.len) {
		uint8_t *copy = malloc(page->next_page_token.len);

		CHECK(copy);
		memcpy(copy, page->next_page_token.data, page->next_page_token.len);
		*token = (struct bytes){copy, page->next_page_token.len};
	}
	lease_free(page);
	return true;
}

bool list_read(const struct options *options, struct client *client, list_each_f *each,
	       void *context, struct failure *failure)
{
	struct lease_request request = {
	    .name_space = options->name_space, .prefix = options->prefix, .page_size = PAGE};
	bool good;

	do {
		struct call call;

		lease_ask(client, &call, LEASE_LIST, &request,
			  clock_boot_us() + options->timeout_us);
		good = take_page(&call, each, context, &request.page_token);
		if (!good)
			failure_read(&call, failure);
		call_free(client, &call);
	} while (good && request.page_token.len);
	return good;
}

static void show_one(void *context, const Leased__Wire__LeaseHandle *handle)
{
	show_list_add(context, handle);
}

int list_main(const struct options *options)
{
	struct client *client = unary_client(options);
	struct show_list *list = show_list_begin(options);
	struct failure failure;
	bool good = list_read(options, client, show_one, list, &failure);

	client_close(client);
	/* Half a list is no list: nothing is shown of a table or a document. */
	show_list_end(list, good);
	if (good)
		return STATUS_OK;
	failure_print(&failure, options->name_space);
	return failure_status(&failure);
}
