package handlers

import (
	"net/http"
	"net/http/pprof"
	"net/netip"

	"ledge/domain"
	"ledge/handlers/web"
)

// PprofPath begins the paths of Go's profiles.
const PprofPath = "/debug/pprof/"

// The routes of each port beside those of its service. The right for HEAD is that for GET.
var (
	Metrics  = Route{Method: "GET", Path: "/metrics", Right: domain.MayRead}
	Profiles = Route{Method: "GET", Path: PprofPath + ":name", Right: domain.MayAdminister}
)

var errNotLoopback = domain.Errorf(domain.Forbidden, "profiles are only for clients on this machine in open mode; ask from there, by 127.0.0.1")

// Pprof serves Go's profiles of the process: in secure mode to administrators, in open mode to clients of this machine.
func Pprof(o Options) http.Handler {
	o = o.WithDefaults()
	profiles := http.NewServeMux()
	profiles.HandleFunc(PprofPath, pprof.Index)
	profiles.HandleFunc(PprofPath+"cmdline", pprof.Cmdline)
	profiles.HandleFunc(PprofPath+"profile", pprof.Profile)
	profiles.HandleFunc(PprofPath+"symbol", pprof.Symbol)
	profiles.HandleFunc(PprofPath+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, ok := o.admit(w, r, nil)
		if !ok {
			return
		}
		var err error
		if o.Access != nil && !o.Access.Open {
			err = o.mayCall(r, Profiles, r.PathValue)
		} else if from, perr := netip.ParseAddrPort(r.RemoteAddr); perr != nil || !from.Addr().Unmap().IsLoopback() || web.IsForwarded(r) {
			err = errNotLoopback
		}
		if err != nil {
			o.refuse(w, r, Profiles.Path, err)
			return
		}
		profiles.ServeHTTP(w, r)
	})
}
