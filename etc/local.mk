# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += etc/leased.yaml
bashcompletiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += etc/leasectl.bash-completion
install-data-hook:
	$(MKDIR_P) $(DESTDIR)$(bashcompletiondir)
	$(INSTALL_DATA) $(srcdir)/etc/leasectl.bash-completion $(DESTDIR)$(bashcompletiondir)/leasectl
uninstall-hook:
	rm -f $(DESTDIR)$(bashcompletiondir)/leasectl
