/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/sip.h - SipHash-1-3 over 64-bit words (Aumasson and Bernstein). Keyed: who does not know the
 * seed cannot choose names that meet in one bucket. */
#ifndef LEASED_SHM_SIP_H
#define LEASED_SHM_SIP_H

#include <stddef.h>
#include <stdint.h>

/* `tag` takes the place of the length in the last block. Pure. */
uint64_t shm_sip(const uint64_t seed[2], uint64_t tag, const uint64_t *word, size_t count);

#endif
