# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libconfig.a
libconfig_a_SOURCES =
