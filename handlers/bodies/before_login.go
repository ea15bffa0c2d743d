package bodies

import (
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"ledge/domain"
	"ledge/handlers/connections"
)

// Bodies of clients that have not logged in: how many of each service are read at a time, and how long one may take.
const (
	mostUnknown = 64
	unknownTime = 5 * time.Second
)

var errGaveWay = domain.Errorf(domain.Unavailable, "%d bodies before a login are being read, and this one of the client with the most gave way to a newer one; send it again, all at once", mostUnknown)

// UnknownBodies are the bodies that a service reads from clients that have not logged in. A body counts until it has ended, so the computation
// of a password counts nothing. A new body is never refused: at the limit the oldest body of the client with the most breaks off.
type UnknownBodies struct {
	mu     sync.Mutex
	bodies []*timedBody // oldest first
}

// Begin counts the body of a request and shortens its time. The caller calls done before the end of the request.
func (u *UnknownBodies) Begin(r *http.Request) (done func()) {
	body, ok := r.Body.(*timedBody)
	if !ok || body.end != nil || body.leave != nil {
		return func() {}
	}
	body.client, body.leave = connections.Client(r), func() { u.remove(body) }
	body.time, body.left, body.bytes = unknownTime, unknownTime, math.MaxInt64
	body.wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) >= mostUnknown {
		u.breakOff()
	}
	u.bodies = append(u.bodies, body)
	return body.leave
}

func (u *UnknownBodies) remove(body *timedBody) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bodies = slices.DeleteFunc(u.bodies, func(other *timedBody) bool { return other == body })
}

// breakOff ends the oldest body of the client with the most. The caller holds the lock.
func (u *UnknownBodies) breakOff() {
	by := map[string]int{}
	for _, body := range u.bodies {
		by[body.client]++
	}
	oldest := 0
	for i, body := range u.bodies {
		if by[body.client] > by[u.bodies[oldest].client] {
			oldest = i
		}
	}
	u.bodies[oldest].breakOff()
	u.bodies = slices.Delete(u.bodies, oldest, oldest+1)
}
