/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/family.h - all that descends from this process, found in /proc: also what left its
 * process group or its session. With PR_SET_CHILD_SUBREAPER nothing leaves the family by losing its
 * parent. */
#ifndef LEASED_LEASECTL_FAMILY_H
#define LEASED_LEASECTL_FAMILY_H

#include <sys/types.h>

/* Sends `number` (0: only counts) to every living descendant but `except` and its descendants, and
 * but those in process group `told` (0: none), which count all the same; how many there are, -1
 * when /proc cannot be read. A process that is being made at that moment may be missed: call again
 * until there are none. */
int family_signal(pid_t except, pid_t told, int number);

#endif
