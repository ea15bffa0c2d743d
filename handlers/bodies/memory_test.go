package bodies

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/quota"
)

// TestOneRequestWaitsForMemory has three requests of one client. Each holds a part of the memory and needs more. One of them waits and the
// others are refused. It goes on when they return their memory, so not all are refused.
func TestOneRequestWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 1 << 20
		b := New(10, quota.New(total), total, Pace{})
		var requests [3]*EntryMemory
		for i := range requests {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequest("POST", "/", strings.NewReader(""))
			c.Request.RemoteAddr = "192.0.2.1:1"
			requests[i] = b.EntryMemory(c)
			if err := requests[i].HoldBytes(total / 4); err != nil {
				t.Fatal(err)
			}
		}
		taken := make(chan error, 1)
		go func() { taken <- requests[0].HoldBytes(total / 4) }()
		synctest.Wait()
		for _, r := range requests[1:] {
			if err := r.HoldBytes(total / 4); domain.CodeOf(err) != domain.Unavailable {
				t.Errorf("while another waits: %v", err)
			}
			r.Release()
		}
		if err := <-taken; err != nil {
			t.Errorf("the request that waits: %v", err)
		}
		if err := requests[1].HoldBytes(total / 2); domain.CodeOf(err) != domain.Unavailable { // no request returns memory
			t.Errorf("without a free share: %v", err)
		}
		requests[0].Release()
	})
}
