/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/completion.h - completion for shells, made from the tables of verbs and options. */
#ifndef LEASED_LEASECTL_COMPLETION_H
#define LEASED_LEASECTL_COMPLETION_H

#include "leasectl/options.h"

/* Prints the script for options->rest[0]; the exit status. */
int completion_main(const struct options *options);

#endif
