/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/catalog.h - names, descriptions and schemas of the tools, as tools/list shows them. */
#ifndef LEASED_LEASECTL_CATALOG_H
#define LEASED_LEASECTL_CATALOG_H

/* One JSON array; static. */
extern const char catalog_text[];

#endif
