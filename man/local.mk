# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += man/leased.8 man/leased.yaml.5 man/leasectl.1 man/leased-token.1
