# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libmaster.a
libmaster_a_SOURCES =
