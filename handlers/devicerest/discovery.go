package devicerest

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// discover refuses to look for devices. EdgeX 2.3 answers 501 where a driver cannot, and 503 before it where the setting for
// it is off, as it is for device-rest; here is no such setting.
func (s service) discover(c *gin.Context) {
	view, done := s.state()
	err := checkService(view.State)
	done()
	if err == nil {
		err = domain.Errorf(domain.Unsupported, "device discovery is not supported by %s; add devices at core-metadata", domain.DeviceREST)
	}
	s.Fail(c, err)
}
