package admin

import (
	"net/http"
	"net/http/pprof"
)

// profilesHost is the host of a request for profiles, as in http://ledge/debug/pprof/heap.
const profilesHost = "ledge"

// withProfiles serves Go's profiles of the process beside the REST APIs, also while the server starts.
func withProfiles(apis http.Handler) http.Handler {
	const path = "/debug/pprof/"
	profiles := http.NewServeMux()
	profiles.HandleFunc(path, pprof.Index)
	profiles.HandleFunc(path+"cmdline", pprof.Cmdline)
	profiles.HandleFunc(path+"profile", pprof.Profile)
	profiles.HandleFunc(path+"symbol", pprof.Symbol)
	profiles.HandleFunc(path+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == profilesHost {
			profiles.ServeHTTP(w, r)
			return
		}
		apis.ServeHTTP(w, r)
	})
}
