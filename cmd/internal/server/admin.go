package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/store"
)

// openAdmin opens the socket. Until the program runs, its answers say that it is starting.
func (p *Server) openAdmin() {
	if !admin.Available {
		return
	}
	s, err := admin.Open(p.Config.DataDir, p.Logger, p.administer, func(actor string) http.Handler { return apisAs(p, actor) })
	if err != nil {
		p.Logger.Warn("local commands such as ledge user and ledge log work only while this server is stopped", "error", err)
		return
	}
	p.admin = s
	p.onClose(s.Close)
}

// startIdentities sweeps the hashes and creates the first user.
func (p *Server) startIdentities(ctx context.Context) error {
	p.identities = identities.New(p.Node, p.Config.DataDir, p.secrets, p.Logger)
	if err := p.Node.Try(p.identities.Sweep); err != nil {
		p.Logger.Warn("hashes that no user has are still in the secret store", "error", err)
	}
	err := p.Node.Try(func() error { return p.identities.AddFirstAdmin(ctx, p.Terminal, p.Logger) })
	if err != nil {
		return err
	}
	p.inBackground(p.identities.KeepTokenUses, p.identities.RemoveRetiredInTime)
	if p.admin != nil {
		p.onClose(p.admin.Close) // before the data that it asks
	}
	return nil
}

func (p *Server) health() *admin.Health {
	a := &admin.Health{Warnings: p.warnings()}
	for _, one := range services.All {
		if err := servingOf(one.Name).ready(p); err != nil {
			a.Refusing = append(a.Refusing, fmt.Sprintf("%s: %v", one.Name, err))
		}
	}
	slices.Sort(a.Refusing)
	return a
}

// administer answers a request at the admin socket.
func (p *Server) administer(ctx context.Context, actor string, r admin.Request, send func(admin.Answer) error) (a admin.Answer, err error) {
	if !p.running.Load() {
		text := "the server is starting"
		if done := p.Fold.Progress(); done != "" {
			text += ": " + done
		}
		return a, domain.Errorf(domain.Unavailable, "%s; try again", text)
	}
	switch r.Do {
	case "why":
		var why *channels.Explanation
		if why, err = p.Channels.Explain(r.Name, r.Notification); err == nil {
			a.Why, err = json.Marshal(why)
		}
	case "history":
		var page history.Page
		if r.History == nil {
			return a, domain.Errorf(domain.Invalid, "history is missing; give entity, name and limit")
		}
		if page, err = p.Node.ReadHistory(ctx, *r.History); err == nil {
			a.History, err = json.Marshal(page)
		}
	case "ends":
		a.Ends, err = p.endsAfter(ctx, r.After)
	case "checkpoint":
		a.Checkpoint, err = p.transparency.Checkpoint(ctx)
	case "health":
		a.Health = p.health()
	case "verify":
		err = p.verifier.VerifyFor(ctx, actor, send)
	default:
		a, err = p.identities.Do(ctx, actor, r)
	}
	return a, err
}

// localOrigin is the origin of events whose request came by the admin socket.
const localOrigin = "internal"

// apisAs returns the REST APIs in the name of a local actor, with the role admin.
func apisAs(p *Server, actor string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch one := p.servers.byName[r.Host]; {
		case !p.running.Load():
			http.Error(w, "the server is starting; try again", http.StatusServiceUnavailable)
		case one == nil || r.Host == services.Console:
			http.Error(w, fmt.Sprintf("%.80q is not the name of a REST service", r.Host), http.StatusNotFound)
		default:
			serviceAs(p, r.Host, domain.Identity{Actor: actor, Role: domain.Admin}, localOrigin).ServeHTTP(w, r)
		}
	})
}

// endsWait is how long a client waits for its next answer about where the logs end.
const endsWait = 20 * time.Second

// endsAfter says where the logs begin and end. If after is not nil, it waits for one to go on.
func (p *Server) endsAfter(ctx context.Context, after store.Place) (map[string]store.Info, error) {
	if after == nil {
		return p.Node.Store.Info(), nil
	}
	wait, cancel := context.WithTimeout(ctx, endsWait)
	defer cancel()
	ends := p.Node.Store.InfoAfter(wait, after)
	if ctx.Err() != nil {
		return nil, domain.Errorf(domain.Unavailable, "the server is stopping")
	}
	return ends, nil
}
