package handlers

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// EntryRoom is the memory that the entries of a request's lists and objects take, decoded, beside its text.
type EntryRoom struct {
	api *API
	// room is how much of the service's BodyMemory is left to the request beside its text, held how much of that it has.
	room, held int64
}

// EntryRoom returns the room of a request, of which it holds nothing yet.
func (a *API) EntryRoom(c *gin.Context) *EntryRoom {
	return &EntryRoom{api: a, room: a.BodyMemory - a.loads(c)}
}

// Hold takes hold of memory for entries that are about to be decoded.
func (r *EntryRoom) Hold(entries int) error {
	n := int64(entries) * entryBytes
	if r.held+n > r.room {
		return domain.Errorf(domain.TooLarge, "the lists and objects of the body have more than %d entries, which is the limit; send several requests or raise the setting limit-body-memory", r.room/entryBytes)
	}
	if !r.api.memory.TryAcquire(n) {
		return r.api.noMemory()
	}
	r.held += n
	return nil
}

// Release gives back what is held.
func (r *EntryRoom) Release() { r.api.memory.Release(r.held) }
