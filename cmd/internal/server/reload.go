package server

import (
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/pflag"
)

// Reload takes over what can change while the program runs: the log level, the certificate and the CAs of clients. What cannot be
// used changes nothing. systemd is told.
func (p *Server) Reload() {
	notifySystemd(p, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
	defer notifySystemd(p, daemon.SdNotifyReady)
	p.Logger.Info("reloading")
	errs := 0
	failed := func(what string, err error) {
		if err != nil {
			errs++
			p.Logger.Error("not reloaded: "+what+"; the old one stays in use", "error", err)
		}
	}
	failed("the configuration", p.reloadSettings())
	if p.Config.Secure {
		failed("the TLS certificate", p.tls.keeper.Reload())
		failed("the CA of client certificates", p.tls.loadClientCA(p.Config.TLSClientCA))
	}
	if errs == 0 {
		p.Logger.Info("reloaded", "log-level", p.Config.LogLevel.String())
	}
}

// reloadSettings changes the log level, and names the other settings that differ.
func (p *Server) reloadSettings() error {
	now, err := p.Config.LoadAgain()
	if err != nil {
		return err
	}
	p.Config.LogLevel.LevelVar.Set(now.LogLevel.Level())
	var differ []string
	p.Config.Settings().VisitAll(func(f *pflag.Flag) {
		if now.Settings().Lookup(f.Name).Value.String() != f.Value.String() {
			differ = append(differ, f.Name)
		}
	})
	if len(differ) > 0 {
		p.Logger.Warn("some settings differ from those in force: each needs a restart", "settings", strings.Join(differ, ", "))
	}
	return nil
}
