package domain

// DeviceService is a program that speaks to devices; "device-rest" is Ledge itself. Its fields have the order of EdgeX 2.3.
type DeviceService struct {
	Created       int64    `json:"created" order:"2"`
	Modified      int64    `json:"modified" order:"2"`
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	LastConnected int64    `json:"lastConnected,omitempty" order:"1"`
	LastReported  int64    `json:"lastReported,omitempty" order:"1"`
	Labels        []string `json:"labels,omitempty"`
	// BaseAddress is the URL at which the service is called back.
	BaseAddress string `json:"baseAddress"`
	AdminState  string `json:"adminState"`
}

func (d *DeviceService) checkFields(c *checking) {
	c.checkField("baseAddress", d.BaseAddress, (*Problems).checkURL)
	c.checkState("adminState", d.AdminState, StateLocked, StateUnlocked)
}

// Check notes what is wrong with a device service.
func (d DeviceService) Check() Problems {
	c := newChecking(d.ID, d.Name)
	d.checkFields(&c)
	return c.Problems
}

// DeviceREST is the name of the device service inside Ledge.
const DeviceREST = "device-rest"
