package server

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/domain"
	"ledge/handlers/access"
	consolelimits "ledge/handlers/console/limits"
	"ledge/handlers/console/web"
	"ledge/projections"
	"ledge/store/osfile"
)

// limits are the settings of retention in force: the configuration, and above it the values that administrators have set. The log of
// changes has these values, and the file in the data folder is made of it. If power fails between the event and the file, the next
// start writes the file.
type limits struct {
	server     *Server
	setting    sync.Mutex // held across the event and the file
	previewing sync.Mutex // a preview may read the counters of all readings
	inForce    atomic.Pointer[config.Config]
	override   atomic.Pointer[map[string]string]
}

// openLimits reads the values from the state.
func openLimits(p *Server) (*limits, error) {
	l := &limits{server: p}
	return l, l.load()
}

// load takes the values of the state over, and writes the file. A value that this version does not take is left out.
func (l *limits) load() error {
	p := l.server
	var values map[string]string
	err := p.Node.Changes.Read(func(v *projections.View) error {
		values = domain.RetentionOf(v.State)
		return nil
	})
	if err != nil {
		return err
	}
	for name, value := range values {
		if _, err := config.WithRetention(p.Config, map[string]string{name: value}); err != nil {
			p.Logger.Warn("a limit that was set in the console is not in force", "setting", name, "error", err)
			delete(values, name)
		}
	}
	c, err := config.WithRetention(p.Config, values)
	if err != nil {
		return err
	}
	l.inForce.Store(c)
	l.override.Store(&values)
	path := filepath.Join(p.Config.DataDir, datadir.RetentionFile)
	if len(values) == 0 {
		err = osfile.Remove(path)
	} else {
		err = osfile.Write(path, config.RetentionFile(values))
	}
	if err != nil { // ledge config reads it; a server does not
		p.Logger.Warn("the file with the limits of the console is not written; the next start writes it", "file", path, "error", err)
	}
	return nil
}

// source returns the source of a setting of retention that an administrator has set; "" for another setting.
func (l *limits) source(name string) string {
	if _, ok := (*l.override.Load())[name]; ok {
		return "console"
	}
	return ""
}

// settingsInForce returns the settings of a service with their values, written as in a file of settings.
func settingsInForce(p *Server, service string) map[string]string {
	values := p.Config.InForce(service)
	if !p.running.Load() { // the limits are not there yet
		return values
	}
	for name := range values {
		if p.limits.source(name) != "" {
			values[name] = p.limits.inForce.Load().Settings().Lookup(name).Value.String()
		}
	}
	return values
}

// Limits implements the console's source.
func (l *limits) Limits() (list []consolelimits.Limit) {
	override := *l.override.Load()
	for _, name := range domain.RetentionSettings() {
		f := l.server.Config.Settings().Lookup(name)
		list = append(list, consolelimits.Limit{Name: name, Set: override[name], Configured: f.Value.String(), About: f.Usage})
	}
	return list
}

// Preview implements the console's source.
func (l *limits) Preview(ctx context.Context, values map[string]string) (lines []string, err error) {
	c, err := config.WithRetention(l.server.Config, values)
	if err != nil {
		return nil, err
	}
	if !l.previewing.TryLock() {
		return nil, domain.Errorf(domain.Unavailable, "another preview is under way; try again when it is done")
	}
	defer l.previewing.Unlock()
	going, err := l.server.Remover.Preview(ctx, removalOptions(l.server.Config, c))
	for _, one := range going {
		text := one.Limit + ":"
		if one.Events > 0 {
			text += fmt.Sprintf(" at most %d events on the log", one.Events)
		}
		if one.Bytes > 0 {
			text += fmt.Sprintf(" %s, the oldest first", web.ShowBytes(one.Bytes))
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return lines, err
}

// Set implements the console's source: the event first, then the limits and the file.
func (l *limits) Set(ctx context.Context, actor string, values map[string]string) error {
	p := l.server
	if err := access.StillLoggedIn(ctx); err != nil {
		return err
	}
	l.setting.Lock()
	defer l.setting.Unlock()
	all := maps.Clone(*l.override.Load())
	maps.Copy(all, values)
	if _, err := config.WithRetention(p.Config, all); err != nil {
		return err
	}
	stamp := domain.Stamp{EventID: uuid.NewString(), At: p.Now(), Actor: actor, By: access.Sender(ctx), Origin: access.Origin(ctx)}
	outcomes, err := p.Node.Changes.Appender.Submit(ctx, domain.Request{Stamp: stamp, Command: domain.SetRetention{Values: values}})
	if err == nil {
		err = outcomes[0].Err
	}
	if err != nil {
		return err
	}
	if err := l.load(); err != nil {
		return err
	}
	p.Remover.SetLimits(removalOptions(p.Config, l.inForce.Load()))
	return nil
}
