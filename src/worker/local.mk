# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libworker.a
libworker_a_SOURCES =
