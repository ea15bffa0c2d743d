package bodies

import (
	"context"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/connections"
)

// entryBytes is what an entry of a list or an object counts in memory while its request is served. Decoded it takes far more than its text.
const entryBytes = 96

// EntryMemory is the memory that the entries of a request's lists and objects take, decoded, beside its text.
type EntryMemory struct {
	of     *Bodies
	ctx    context.Context
	client string
	// room is how much of the client's share of the memory is left to the request beside its text, held how much of that it has.
	room, held int64
}

// EntryMemory returns the room of a request, of which it holds nothing yet.
func (b *Bodies) EntryMemory(c *gin.Context) *EntryMemory {
	r := &EntryMemory{of: b, ctx: c.Request.Context(), client: connections.Client(c.Request), room: b.memory.Most()}
	if c.Request.ContentLength != 0 {
		r.room -= bodyOf(c).counted
	}
	return r
}

// Hold takes hold of memory for entries that are about to be decoded.
func (r *EntryMemory) Hold(entries int) error { return r.HoldBytes(int64(entries) * entryBytes) }

// HoldBytes takes hold of n bytes for what is about to be decoded. Its error is a domain Error: with the code TooLarge if a request can
// never have that much, and Unavailable if other requests have the memory.
func (r *EntryMemory) HoldBytes(n int64) error {
	if r.held+n > r.room {
		return domain.Errorf(domain.TooLarge, "the entries of lists and objects take %d bytes of memory, and of %d bytes for one request "+
			"%d are taken; send it in a request of its own, or split it", n, r.room, r.held)
	}
	if err := r.of.take(r.ctx, r.client, n); err != nil {
		return err
	}
	r.held += n
	return nil
}

// Release gives back what is held.
func (r *EntryMemory) Release() {
	r.of.memory.Give(r.client, r.held)
	r.held = 0
}

// KeepUntilEnd gives the memory back at the end of the request. r must not be used after it.
func (r *EntryMemory) KeepUntilEnd(c *gin.Context) {
	if r.held > 0 {
		bodyOf(c).held += r.held
	}
}
