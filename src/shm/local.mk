# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libshm.a
libshm_a_SOURCES =
