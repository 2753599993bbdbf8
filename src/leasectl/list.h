/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/list.h - all held keys of a namespace, page by page. */
#ifndef LEASED_LEASECTL_LIST_H
#define LEASED_LEASECTL_LIST_H

#include "leasectl/failure.h"
#include "leasectl/lease.h"
#include "leasectl/options.h"

/* What is done with each lease; the handle is borrowed for the call. */
typedef void list_each_f(void *context, const Leased__Wire__LeaseHandle *handle);

/* Reads the whole list of options' namespace and prefix in order of keys. False with the failure
 * when a page cannot be had; `each` has then been called for the pages before. Blocks. */
bool list_read(const struct options *options, struct client *client, list_each_f *each,
	       void *context, struct failure *failure);

/* The verb; the exit status. */
int list_main(const struct options *options);

#endif
