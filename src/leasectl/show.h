/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/show.h - leases on stdout in the form that was asked for. */
#ifndef LEASED_LEASECTL_SHOW_H
#define LEASED_LEASECTL_SHOW_H

#include <jansson.h>

#include "leasectl/lease.h"
#include "leasectl/options.h"

/* protobuf's JSON of a handle: camelCase, int64 as strings, what is unset left out. The caller
 * owns the reference. */
json_t *show_json(const Leased__Wire__LeaseHandle *handle);

/* A JSON string of bytes that ought to be UTF-8; others are escaped. The caller owns it. */
json_t *show_json_text(struct bytes bytes);

/* Writes `value` as json (indented) or jsonl (one line) and gives its reference back. */
void show_json_print(json_t *value, enum output output);

/* One lease in the form of options->output; `wrap` names it in JSON ("handle"), `waiters` is shown
 * by inspect, -1 when not known. */
void show_lease(const struct options *options, const Leased__Wire__LeaseHandle *handle);

/* Many: begin, any number of add, end. Table forms are printed at the end, json as one document;
 * what was kept for that is only freed when not `good`. */
struct show_list;
struct show_list *show_list_begin(const struct options *options);
void show_list_add(struct show_list *list, const Leased__Wire__LeaseHandle *handle);
void show_list_end(struct show_list *list, bool good);

#endif
