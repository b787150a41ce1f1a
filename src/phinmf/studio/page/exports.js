import { findAll, make, onClick } from "./dom.js";
import { resolved } from "./levels.js";
import { dismiss, notice } from "./notices.js";
import { writeExport } from "./server.js";

/**
 * The buttons that write files and start their download.
 *
 * @param current function that returns the TakeMix that is shown
 */
export function enableExports(current) {
  const buttons = findAll("[data-export]");
  for (const button of buttons) {
    onClick(button, async () => {
      const mix = current();
      for (const each of buttons) each.disabled = true;
      button.classList.add("busy");
      dismiss("export");
      try {
        await mix.saving.send(); // the groups that are written are those that are shown
        const { address, name, message } = await writeExport(mix.take.id, button.dataset.export, resolved(mix.levels, mix.solos));
        const link = make("a", { href: address, download: name });
        link.click();
        notice(`${name}: ${message.replace(/\.$/, "")}.`, { name: "export", kind: "info" });
      } catch (error) {
        notice(error.message, { name: "export" });
      }
      for (const each of buttons) each.disabled = false;
      button.classList.remove("busy");
    });
  }
}
