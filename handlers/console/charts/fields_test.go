package charts

import (
	"os"
	"testing"

	"ledge/handlers/console/web/webtest"
)

func TestTemplateCallsNoMethod(t *testing.T) {
	webtest.CheckFields(t, map[string]any{"chart": pageData{}}, os.DirFS("../templates"), os.DirFS("../web/templates"))
}
