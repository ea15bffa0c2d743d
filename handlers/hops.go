package handlers

import (
	"net/http"
	"strings"

	"ledge/domain"
)

// hopHeader names the instances of Ledge that a request has passed. Ledge sets it on what it sends to REST channels and device services.
const hopHeader = "Ledge-Hop"

func hopsOf(r *http.Request) domain.Hops {
	all := r.Header[hopHeader]
	if len(all) == 0 {
		return nil
	}
	return domain.ParseHops(strings.Join(all, ","))
}

// loops answers a request that goes round between instances of Ledge with 508.
func (s *Service) loops(w http.ResponseWriter, r *http.Request) bool {
	hops := hopsOf(r)
	if len(hops) == 0 || !hops.Loops(s.options.Instance) {
		return false
	}
	s.options.Logger.Debug("request goes round", "service", s.options.Service, "path", r.URL.Path, "hops", hops, "correlation", correlationID(w))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusLoopDetected)
	text, _ := appendJSON(nil, Envelope{
		APIVersion: s.options.APIVersion, StatusCode: http.StatusLoopDetected,
		Message: "this request goes round between instances of Ledge, as its header Ledge-Hop says; " +
			"correct the REST channel or the base address that sends it here",
	})
	_, _ = w.Write(append(text, '\n')) // fails when the client is gone: nobody is left to be told
	return true
}
